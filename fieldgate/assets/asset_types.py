"""Types of assets, and what depends on them."""

SURVEY, TEMPLATE, BLOCK, QUESTION = "survey", "template", "block", "question"
COLLECTION, EMPTY = "collection", "empty"

FORM_TYPES = (SURVEY, TEMPLATE)  # with settings and an XForm


def effective_type(asset_type: str, row_count: int) -> str:
    """Return "question" for a block of one row and "block" for a question of several, as the live system does."""
    if asset_type not in (BLOCK, QUESTION) or not row_count:
        return asset_type
    return QUESTION if row_count == 1 else BLOCK
