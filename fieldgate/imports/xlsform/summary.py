"""What people see of a form in a list, computed from its normalised content."""

from typing import Any

from fieldgate.imports.clipping import truncate
from fieldgate.imports.xlsform.question_types import GEO_TYPES, METADATA_TYPES

MAX_LABELS = 5
# Summaries stand in lists of a thousand; whole texts, and everything else, are in the content.
MAX_SUMMARY_COLUMNS = 200
MAX_LANGUAGES = 100
MAX_LABEL_CHARS = 200  # characters
MAX_SUMMARY_NAME_CHARS = 100  # characters of a column or a language

_NON_QUESTION_TYPES = METADATA_TYPES | {"note", "begin_group"}


def summarise(content: dict[str, Any]) -> dict[str, Any]:
    """The six keys. The one language of a form that names none is not listed. Long names and texts are clipped."""
    survey: list[dict[str, Any]] = content["survey"]
    translations = [truncate(name, MAX_SUMMARY_NAME_CHARS) for name in content["translations"][:MAX_LANGUAGES]]
    counted = [row for row in survey if is_question(row["type"])]
    labelled = [row for row in counted if "label" in row]
    columns = list(dict.fromkeys(key for row in counted for key in row if not key.startswith("$")))
    return {
        "geo": any(row["type"] in GEO_TYPES for row in survey),
        "labels": [truncate(_first_translation(row["label"]), MAX_LABEL_CHARS) for row in labelled[:MAX_LABELS]],
        "columns": [truncate(key, MAX_SUMMARY_NAME_CHARS) for key in columns[:MAX_SUMMARY_COLUMNS]],
        "languages": [] if translations == [None] else translations,
        "row_count": len(counted),
        "default_translation": translations[0] if translations else None,
    }


def is_question(question_type: str) -> bool:
    """Whether a row is a question to people who read a list of forms: groups, notes and metadata are not."""
    return question_type not in _NON_QUESTION_TYPES and not question_type.startswith("end")


def _first_translation(label: Any) -> Any:
    return label[0] if isinstance(label, list) else label
