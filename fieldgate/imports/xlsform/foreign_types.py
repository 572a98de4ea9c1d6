"""Question types of other products, which the XLSForm standard does not have, and what to use instead of them.

They are in `foreign_types.json`. One without a replacement has an empty text.
"""

import json
from pathlib import Path

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.vocabulary import to_snake_case

_TYPES = {
    spelling: (product, replacement)
    for product, types in json.loads(
        (Path(__file__).parent / "foreign_types.json").read_text()
    ).items()
    for spelling, replacement in types.items()
}
_MAX_WORDS = max(spelling.count("_") + 1 for spelling in _TYPES)


def foreign_type_message(text: str) -> Message | None:
    """What to say about a type of another product, which may be followed by other words; None if it is not one."""
    words = text.split()
    for length in range(min(len(words), _MAX_WORDS), 0, -1):
        product, replacement = _TYPES.get(to_snake_case(" ".join(words[:length])), ("", ""))
        if replacement:
            return Message(
                "{type} belongs to {product}. Here, use {guess}.",
                type=text,
                product=product,
                guess=replacement,
            )
        if product:
            return Message(
                "{type} belongs to {product}. There is nothing like it here: remove the row.",
                type=text,
                product=product,
            )
    return None
