"""Names of assets: allowed characters and comparison."""

import re
import unicodedata

# Characters that XML does not allow, and invisible control characters.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def strip_control_characters(name: str) -> str:
    return _CONTROL.sub(" ", name).strip()


def name_key(name: str) -> str:
    """Return a key that ignores case and the encoding of accents: `École`, `école` and `ÉCOLE` have the same key."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
