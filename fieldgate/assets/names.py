"""Names of assets: what one may hold, and how two are compared."""

import re
import unicodedata

# What an XML document cannot hold, and other marks that steer a terminal and nobody sees.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def strip_control_characters(name: str) -> str:
    """The name with nothing in it but what can be seen."""
    return _CONTROL.sub(" ", name).strip()


def name_key(name: str) -> str:
    """The name without regard to case or to how its accents are encoded: `École`, `école` and `ÉCOLE` are one word."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
