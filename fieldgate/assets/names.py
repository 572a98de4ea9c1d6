"""Names of assets as they are compared: `École`, `école` and `ÉCOLE` are the same word on both databases."""

import unicodedata


def name_key(name: str) -> str:
    """The name without regard to case or to how its accents are encoded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
