"""CSV that spreadsheets do not take for formulas, and that is read back as it was written."""

import csv
import io

import pytest
from fieldgate_client.exports import csv_file
from hypothesis import example, given
from hypothesis import strategies as st

from fieldgate.http.response import csv_safe
from fieldgate.http.response.csv_safe import decode_csv, encode_cells, encode_csv, unescape_formula

SIGNS = "=+-@＝＋－＠﹦﹢﹣﹫"
# What spreadsheets leave out at the start of a cell: white space, control characters, characters without width.
LEFT_OUT = " \t\r\n\v\f\0\x1f\x7f\x85\u00a0\u00ad\u200b\u200e\u2028\u202e\u2060\u3000\ufeff"

texts = st.text() | st.text(alphabet=SIGNS + LEFT_OUT + "'\",;1aé", max_size=6)


def read_cell(data: bytes) -> str:
    [[cell, last]] = csv.reader(io.StringIO(data.decode(), newline=""))
    assert last == "end"
    return cell


def looks_like_formula(text: str) -> bool:
    return text.lstrip(LEFT_OUT)[:1] in set(SIGNS)


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", ["", *LEFT_OUT, "\ufeff \t", "\r\n "], ids=ascii)
def test_formulas_get_an_apostrophe(before: str, sign: str) -> None:
    assert read_cell(encode_csv([[f"{before}{sign}1+1", "end"]])) == f"'{before}{sign}1+1"


@pytest.mark.parametrize("text", ["", "a=1", "1+1", "'quoted'", "'", "''", " x", "é＝", "#adm1+name", 'a"=1', "١"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert read_cell(encode_csv([[text, "end"]])) == text


def test_numbers_stay_numbers() -> None:
    assert encode_csv([[-1, -1.5, None]]) == b"-1,-1.5,\r\n"


@given(texts)
@example("'=1")
@example("''=1")
@example("' =1")
def test_what_is_written_is_read_back(text: str) -> None:
    """A text that already begins with an apostrophe, too."""
    cell = read_cell(encode_csv([[text, "end"]]))
    assert not looks_like_formula(cell)
    assert unescape_formula(cell) == text


@given(st.lists(st.lists(texts, min_size=2, max_size=3), max_size=4))
def test_rows_are_decoded_as_they_were(rows: list[list[str]]) -> None:
    assert list(decode_csv(encode_csv(rows))) == rows


def test_very_long_cells_are_decoded() -> None:
    row = ["x" * 2_000_000, "end"]
    assert list(decode_csv(encode_csv([row]))) == [row]


@given(st.lists(texts, min_size=2, max_size=4), st.integers(1, 3))
def test_cells_of_a_row_can_be_encoded_apart(row: list[str], cut: int) -> None:
    parts = [part for part in (row[:cut], row[cut:]) if part]
    assert b",".join([encode_cells(*part) for part in parts]) + b"\r\n" == encode_csv([row])


@given(texts)
def test_the_client_library_has_the_same_rule(text: str) -> None:
    assert csv_file.FORMULA.pattern == csv_safe.FORMULA.pattern
    [written] = csv.reader(io.StringIO(csv_file.encode_rows([[text, "end"]]).decode(), newline=""))
    assert written[0] == read_cell(encode_csv([[text, "end"]])).replace("\0", "\ufffd")
