"""Spellings of column headers."""

import pytest
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, Library, parse_workbook
from fieldgate.imports.xlsform.sheet_table import parse_headers
from tests.imports.xlsform.forms import GOOD, HEADER
from tests.imports.xlsform.workbooks import xlsx

# A header of the survey, and its key and language.
SPELLINGS = [
    ("bind:jr:constraintMsg", "constraint_message", None),
    ("bind::jr:constraintMsg", "constraint_message", None),
    ("Bind: jr:constraintMsg", "constraint_message", None),
    ("bind:jr:constraintMsg:French (fr)", "constraint_message", "French (fr)"),
    ("bind::jr:constraintMsg::French (fr)", "constraint_message", "French (fr)"),
    ("bind:jr:requiredMsg", "required_message", None),
    ("bind:jr:noAppErrorString", "no_app_error_string", None),
    ("bind::jr:noAppErrorString::French", "no_app_error_string::French", None),
    ("bind:jr:preload", "bind::jr:preload", None),
    ("bind::jr:preloadParams", "bind::jr:preloadParams", None),
    ("body:jr:count", "repeat_count", None),
    ("body:accuracyThreshold", "body::accuracyThreshold", None),
    ("control:appearance", "appearance", None),
    ("instance:odk:tag", "compact_tag", None),
    ("instance::odk:tag", "compact_tag", None),
    ("bind:odk:length", "bind::odk:length", None),
    ("bind:relevant", "relevant", None),
    ("media:image:French", "media::image", "French"),
    ("jr", "jr", None),
]


@pytest.mark.parametrize(("header", "key", "language"), SPELLINGS)
def test_spelling(header: str, key: str, language: str | None) -> None:
    (column,) = parse_headers("survey", [header])
    assert column is not None
    assert (column.key, column.language) == (key, language)


@pytest.mark.parametrize(
    "header", [header for header, *_ in SPELLINGS if "odk" not in header and header != "jr"]
)
def test_xform_is_the_same_as_from_pyxform(header: str) -> None:
    """pyxform fails on `jr`, and does not understand `bind:odk:length`: it would write a Python dictionary."""
    data = xlsx(
        {
            "survey": [[*HEADER, header], [*GOOD, "1 = 1"]],
            "settings": [["form_title", "form_id"], ["T", "t"]],
        }
    )
    form = parse_workbook(data, "form")
    assert isinstance(form, Form)
    assert form.xform == convert(data, file_type=".xlsx", pretty_print=False).xform


@pytest.mark.parametrize(
    ("blank", "names"), [(0, ["good", "more"]), (60, ["good", "more"]), (61, ["good"])]
)
def test_many_blank_rows_end_a_sheet(blank: int, names: list[str]) -> None:
    data = xlsx({"survey": [HEADER, GOOD, *([] for _ in range(blank)), ["text", "more", "More"]]})
    form = parse_workbook(data, "form")
    assert isinstance(form, Form)
    assert [row["name"] for row in form.content["survey"]] == names
    assert ("/data/more" in convert(data, file_type=".xlsx").xform) == ("more" in names)


@pytest.mark.parametrize("dash", ["--", "-", "–", "—", "−", "‑‑", "－", "―"])
def test_dashes_of_kobotoolbox_columns(dash: str) -> None:
    survey = parse_headers(
        "survey", [f"Kobo{dash}locking‑profile", f"kobo{dash}matrix_list", f"other{dash}column"]
    )
    assert [column.key for column in survey if column] == [
        "kobo--locking-profile", "kobo--matrix_list", f"other{dash}column",
    ]  # fmt: skip
    (setting,) = parse_headers("settings", [f"kobo{dash}lock_all"])
    assert setting is not None
    assert (setting.key, setting.known) == ("kobo--lock_all", True)


@pytest.mark.parametrize(
    "header", ["tag:subject:fungus", "tag::subject:fungus", "Tag: subject:fungus"]
)
@pytest.mark.parametrize("other", ["hint:French", "hint::French"])
def test_tags_of_a_library(header: str, other: str) -> None:
    library = parse_workbook(
        xlsx({"library": [[*HEADER, header, other], [*GOOD, "yes", "Ici"]]}), "form"
    )
    assert isinstance(library, Library)
    (item,) = library.blocks
    assert item.tags == ["subject:fungus"]
    assert "fungus" not in str(item.content)
