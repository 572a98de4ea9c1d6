"""Reading workbooks in every format, and data that is not a workbook."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.imports.upload import looks_like_workbook
from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook, workbook_reader
from fieldgate.imports.xlsform.workbook_reader import read_workbook
from tests.imports.xlsform.workbooks import (
    Rows,
    csv_text,
    csv_with_sections,
    ods,
    ole2,
    xls,
    xlsm,
    xlsx,
)

SHEETS: Mapping[str, Rows] = {
    "survey": [["type", "name", "label"], ["select_one colour", "paint", "Peinture préférée"]],
    "choices": [["list_name", "name", "label"], ["colour", "red", "Red"]],
    "settings": [["form_title"], ["Paint"]],
}


@pytest.mark.parametrize("write", [xlsx, xlsm, xls, ods, csv_with_sections])
def test_formats_give_the_same_form(write: Callable[[Mapping[str, Rows]], bytes]) -> None:
    data = write(SHEETS)
    form = parse_workbook(data, "paint")
    assert looks_like_workbook(data)
    assert isinstance(form, Form)
    assert form.title == "Paint"
    assert form.summary["labels"] == ["Peinture préférée"]
    assert [choice["name"] for choice in form.content["choices"]] == ["red"]
    in_xlsx = parse_workbook(xlsx(SHEETS), "paint")
    assert isinstance(in_xlsx, Form)
    assert _without_ids(form.content) == _without_ids(in_xlsx.content)
    assert (form.summary, form.xform) == (in_xlsx.summary, in_xlsx.xform)


def _without_ids(value: Any) -> Any:
    """Content without the ids of its rows, which are random."""
    if isinstance(value, list):
        return [_without_ids(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_ids(each) for key, each in value.items() if key != "$kuid"}
    return value


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_plain_csv_is_a_survey(separator: str, encoding: str) -> None:
    data = csv_text([["type", "name", "label"], ["text", "name", "Où?"]], separator).encode(
        encoding
    )
    form = parse_workbook(data, "plain")
    assert looks_like_workbook(data)
    assert isinstance(form, Form)
    assert form.summary["labels"] == ["Où?"]


def test_cells_are_formatted_as_by_pyxform() -> None:
    values = [
        12,
        3.0,
        2.5,
        True,
        False,
        datetime(2024, 5, 6, 7, 8),
        date(2024, 5, 6),
        time(7, 8),
        " a\u00a0b ",
        None,
    ]
    texts = read_workbook(xlsx({"any": [values]}))[0].rows[0][1]
    assert texts == [
        "12",
        "3",
        "2.5",
        "TRUE",
        "FALSE",
        "2024-05-06 07:08:00",
        "2024-05-06 00:00:00",
        "07:08:00",
        "a b",
    ]


def test_characters_that_xml_does_not_allow_are_removed() -> None:
    assert read_workbook(b"type,na\x01me\n")[0].rows[0][1] == ["type", "name"]


@pytest.mark.parametrize(
    ("write", "use_first_reader"),
    [(xlsx, True), (xlsx, False), (xls, True), (xls, False), (ods, True)],
)
def test_sheets_end_at_their_last_cell_with_content(
    write: Callable[[Mapping[str, Rows]], bytes], use_first_reader: bool
) -> None:
    blank: Rows = [[" "] * 9] * 9
    rows: Rows = [*blank[:2], [None, "a", 0, " "], [" "], [None, None, "b"], *blank]
    survey, choices = read_workbook(
        write({"survey": blank, "choices": rows}), use_first_reader=use_first_reader
    )
    assert survey.rows == []
    assert choices.rows == [(1, []), (2, []), (3, ["", "a", "0"]), (4, []), (5, ["", "", "b"])]


both_readers = pytest.mark.parametrize("use_first_reader", [True, False])


# The last two make Calamine panic, which is not an Exception in Python.
@both_readers
@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04 and no more",
        xlsx(SHEETS)[:900],
        b"\xd0\xcf\x11\xe0 and no more",
        xls(SHEETS)[:1100],
        xls(SHEETS)[:1500],
    ],
)
def test_damaged_file(data: bytes, use_first_reader: bool) -> None:
    with pytest.raises(FormRejected) as rejection:
        parse_workbook(data, "damaged", use_first_reader=use_first_reader)
    assert rejection.value.error_type == "unreadable_workbook"
    assert "could not be read" in str(rejection.value.error)


def test_encrypted_workbook() -> None:
    with pytest.raises(FormRejected) as rejection:
        parse_workbook(ole2("EncryptedPackage", b""), "secret")
    assert rejection.value.error_type == "unreadable_workbook"
    assert "password" in str(rejection.value.error)


@both_readers
@pytest.mark.parametrize("write", [xlsx, xls, csv_with_sections])
def test_limits(
    write: Callable[[Mapping[str, Rows]], bytes],
    use_first_reader: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workbook_reader, "MAX_ROWS", 5)
    monkeypatch.setattr(workbook_reader, "MAX_COLUMNS", 5)
    monkeypatch.setattr(workbook_reader, "MAX_CELL_CHARS", 10)
    monkeypatch.setattr(workbook_reader, "MAX_SHEETS", 2)
    just_right: Rows = [["type", "name", "label", "hint"], *([["text"]] * 4)]
    assert len(read_workbook(write({"survey": just_right}), use_first_reader=use_first_reader)) == 1
    for sheets in (
        {"survey": [["type"]] * 6},
        {"survey": [["type"] * 6]},
        {"survey": [["type"], ["x" * 11]]},
        {"survey": just_right, "choices": just_right, "settings": just_right},
    ):
        with pytest.raises(FormRejected, match="too_large"):
            read_workbook(write(sheets), use_first_reader=use_first_reader)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    for start in (b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"type,name,label\n"):
        with suppress(FormRejected):
            parse_workbook(start + data, "any")


@pytest.mark.parametrize("code_page", ["cp1252", "cp1256", "mac_roman"])
def test_csv_that_is_not_unicode_is_refused(code_page: str) -> None:
    text = "type;name;label\ntext;a;Où habitez-vous ?\n"
    with pytest.raises(FormRejected) as caught:
        parse_workbook(text.encode(code_page), "form")
    assert caught.value.error_type == "unknown_encoding"
