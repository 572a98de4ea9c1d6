"""What people see of a form in a list, computed from its normalised content."""

from typing import Any

from fieldgate.imports.clipping import clipped
from fieldgate.imports.xlsform.question_types import GEOGRAPHIC, METADATA

MOST_LABELS = 5
# Summaries stand in lists of a thousand; whole texts, and everything else, are in the content.
MOST_COLUMNS = 200
MOST_LANGUAGES = 100
LONGEST_LABEL = 200  # characters
LONGEST_NAME = 100  # characters of a column or a language

_NOT_COUNTED = METADATA | {"note", "begin_group"}


def summarise(content: dict[str, Any]) -> dict[str, Any]:
    """The six keys. The one language of a form that names none is not listed. Long names and texts are clipped."""
    survey: list[dict[str, Any]] = content["survey"]
    translations = [clipped(name, LONGEST_NAME) for name in content["translations"][:MOST_LANGUAGES]]
    counted = [row for row in survey if counts(row["type"])]
    labelled = [row for row in counted if "label" in row]
    columns = list(dict.fromkeys(key for row in counted for key in row if not key.startswith("$")))
    return {
        "geo": any(row["type"] in GEOGRAPHIC for row in survey),
        "labels": [clipped(_first(row["label"]), LONGEST_LABEL) for row in labelled[:MOST_LABELS]],
        "columns": [clipped(key, LONGEST_NAME) for key in columns[:MOST_COLUMNS]],
        "languages": [] if translations == [None] else translations,
        "row_count": len(counted),
        "default_translation": translations[0] if translations else None,
    }


def counts(question_type: str) -> bool:
    """Whether a row is a question to people who read a list of forms: groups, notes and metadata are not."""
    return question_type not in _NOT_COUNTED and not question_type.startswith("end")


def _first(label: Any) -> Any:
    return label[0] if isinstance(label, list) else label
