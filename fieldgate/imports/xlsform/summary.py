"""The summary of a form that lists show, computed from its content."""

from collections.abc import Sequence
from typing import Any

from fieldgate.imports.file_text import truncate
from fieldgate.imports.xlsform.locking import has_locking
from fieldgate.imports.xlsform.question_types import GEO_TYPES, METADATA_TYPES
from fieldgate.imports.xlsform.vocabulary import LOCK_ALL, LOCKING_PROFILE

MAX_LABELS = 5
# A list has up to a thousand summaries. The content has everything in full.
MAX_SUMMARY_COLUMNS = 200
MAX_LANGUAGES = 100
MAX_LABEL_CHARS = 200
MAX_SUMMARY_NAME_CHARS = 100  # of a column or a language

_NON_QUESTION_TYPES = METADATA_TYPES | {"note", "begin_group"}


def summarise(content: dict[str, Any]) -> dict[str, Any]:
    """The summary. The language of a form without named languages is not listed. Long texts are truncated.

    Only a form with locks has `lock_all` and `lock_any`.
    """
    survey: list[dict[str, Any]] = content["survey"]
    translations = [
        truncate(name, MAX_SUMMARY_NAME_CHARS) for name in content["translations"][:MAX_LANGUAGES]
    ]
    counted = [row for row in survey if is_question(row["type"])]
    written = [row["label"] for row in counted if "label" in row]
    labels = [label[0] if isinstance(label, list) else label for label in written]
    columns = list(dict.fromkeys(key for row in counted for key in row if not key.startswith("$")))
    return {
        "geo": any(row["type"] in GEO_TYPES for row in survey),
        "labels": [truncate(label, MAX_LABEL_CHARS) for label in labels[:MAX_LABELS]],
        "columns": [truncate(key, MAX_SUMMARY_NAME_CHARS) for key in columns[:MAX_SUMMARY_COLUMNS]],
        "languages": [] if translations == [None] else translations,
        "row_count": len(counted),
        "default_translation": translations[0] if translations else None,
        **(_locks(content.get("settings", {}), counted) if has_locking(content) else {}),
    }


def summarise_library(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The summary of all blocks and questions of a library together."""
    labels = [label for summary in summaries for label in summary["labels"]]
    columns = dict.fromkeys(column for summary in summaries for column in summary["columns"])
    languages = dict.fromkeys(
        language for summary in summaries for language in summary["languages"]
    )
    defaults = [summary["default_translation"] for summary in summaries]
    return {
        "geo": any(summary["geo"] for summary in summaries),
        "labels": labels[:MAX_LABELS],
        "columns": list(columns)[:MAX_SUMMARY_COLUMNS],
        "languages": list(languages)[:MAX_LANGUAGES],
        "row_count": sum(summary["row_count"] for summary in summaries),
        "default_translation": next(filter(None, defaults), None),
    }


def _locks(settings: dict[str, Any], counted: list[dict[str, Any]]) -> dict[str, bool]:
    lock_all = bool(settings.get(LOCK_ALL))
    lock_any = (
        lock_all or LOCKING_PROFILE in settings or any(row.get(LOCKING_PROFILE) for row in counted)
    )
    return {"lock_all": lock_all, "lock_any": lock_any}


def is_question(question_type: str) -> bool:
    """Whether a row counts as a question. Groups, notes and metadata do not."""
    return question_type not in _NON_QUESTION_TYPES and not question_type.startswith("end")
