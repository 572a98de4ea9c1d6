"""KoboToolbox's locks: what may not be edited in a form that was made from a template.

A sheet `kobo--locking-profiles` has a row for each restriction and a column for each profile:

    restriction      flexible   strict
    choice_add                  locked
    question_delete  locked     locked

A row of the survey names its profile in the column `kobo--locking-profile`; the settings may name one for the whole
form, or lock everything with `kobo--lock_all`.
"""

from typing import Any

from fieldgate.imports.xlsform.sheet_table import SheetColumn, SheetTable
from fieldgate.imports.xlsform.vocabulary import LOCK_ALL, LOCKING, LOCKING_PROFILE

RESTRICTION = "restriction"  # the column with the names of restrictions
LOCKED = "locked"

RESTRICTIONS = (
    *("choice_add", "choice_delete", "choice_label_edit", "choice_value_edit", "choice_order_edit"),
    *(
        "question_delete",
        "question_label_edit",
        "question_settings_edit",
        "question_skip_logic_edit",
    ),
    *(
        "question_validation_edit",
        "group_delete",
        "group_label_edit",
        "group_question_add",
        "group_question_delete",
    ),
    *(
        "group_question_order_edit",
        "group_settings_edit",
        "group_skip_logic_edit",
        "group_split",
        "form_replace",
    ),
    *(
        "group_add",
        "question_add",
        "question_order_edit",
        "language_edit",
        "form_appearance",
        "form_meta_edit",
    ),
)


def profile_columns(table: SheetTable) -> list[SheetColumn]:
    """The columns of profiles. Their headers are the names of the profiles."""
    return [column for column in table.columns if column.key != RESTRICTION]


def locking_profiles(table: SheetTable) -> list[dict[str, Any]]:
    """The profiles as stored in form content: each with its name and restrictions."""
    profiles: dict[str, list[str]] = {column.header: [] for column in profile_columns(table)}
    for row in table.filled_rows():
        restriction = row.text(RESTRICTION)
        for cell in row.cells:
            if restriction and cell.column.key != RESTRICTION and cell.text.lower() == LOCKED:
                profiles[cell.column.header].append(restriction)
    return [{"name": name, "restrictions": restrictions} for name, restrictions in profiles.items()]


def strip_locking(content: dict[str, Any]) -> dict[str, Any]:
    """The content without locks. Blocks and questions have none: only surveys and templates are locked."""
    locks = (LOCK_ALL, LOCKING_PROFILE)
    stripped = {key: value for key, value in content.items() if key != LOCKING}
    if "settings" in content:
        stripped["settings"] = {
            key: value for key, value in content["settings"].items() if key not in locks
        }
    if "survey" in content:
        stripped["survey"] = [
            {key: value for key, value in row.items() if key != LOCKING_PROFILE}
            for row in content["survey"]
        ]
    return stripped


def has_locking(content: dict[str, Any]) -> bool:
    settings = content.get("settings", {})
    return (
        LOCKING in content
        or LOCK_ALL in settings
        or LOCKING_PROFILE in settings
        or any(LOCKING_PROFILE in row for row in content.get("survey", ()))
    )
