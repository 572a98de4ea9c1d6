"""What people see of a form in a list, computed from its normalised content."""

from typing import Any

from fieldgate.imports.xlsform.question_types import GEOGRAPHIC, METADATA

MOST_LABELS = 5
_NOT_COUNTED = METADATA | {"note", "begin_group"}


def summarise(content: dict[str, Any]) -> dict[str, Any]:
    """The six keys. The one language of a form that names none is not listed."""
    survey: list[dict[str, Any]] = content["survey"]
    translations: list[str | None] = content["translations"]
    counted = [row for row in survey if counts(row["type"])]
    return {
        "geo": any(row["type"] in GEOGRAPHIC for row in survey),
        "labels": [_first(row["label"]) for row in counted if "label" in row][:MOST_LABELS],
        "columns": list(dict.fromkeys(key for row in counted for key in row if not key.startswith("$"))),
        "languages": [] if translations == [None] else translations,
        "row_count": len(counted),
        "default_translation": translations[0] if translations else None,
    }


def counts(question_type: str) -> bool:
    """Whether a row is a question to people who read a list of forms: groups, notes and metadata are not."""
    return question_type not in _NOT_COUNTED and not question_type.startswith("end")


def _first(label: Any) -> Any:
    return label[0] if isinstance(label, list) else label
