"""CSV that spreadsheets do not take for formulas, and that is read back as it was written."""

import csv
import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fieldgate.http.response.csv_safe import decode_csv, encode_cells, encode_csv, unescape_formula

SIGNS = "=+-@＝＋－＠﹦﹢﹣﹫"
# What spreadsheets leave out at the start of a cell: white space, control characters, characters without width.
LEFT_OUT = " \t\r\n\v\f\0\x1f\x7f\x85\u00a0\u00ad\u200b\u200e\u2028\u202e\u2060\u3000\ufeff"

SEPARATORS = ",;\t|"

texts = st.text() | st.text(alphabet=SIGNS + LEFT_OUT + SEPARATORS + "'\"1aé", max_size=8)


def read_cell(data: bytes) -> str:
    [[cell, last]] = csv.reader(io.StringIO(data.decode(), newline=""))
    assert last == "end"
    return cell


def looks_like_formula(text: str) -> bool:
    """Not a number, though: alone, or the first cell of a row that is not split at commas."""
    return text.lstrip(LEFT_OUT)[:1] in set(SIGNS) and not re.match(r"-[0-9.]+(?:,|\Z)", text)


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", ["", *LEFT_OUT, "\ufeff \t", "\r\n "], ids=ascii)
def test_formulas_get_an_apostrophe(before: str, sign: str) -> None:
    expected = "'" + re.sub(r"[\t\r\n]", r"\g<0>'", before) + f"{sign}1+1"
    assert read_cell(encode_csv([[f"{before}{sign}1+1", "end"]])) == expected


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize(
    "text",
    [
        "a;=1+1;b",
        "a;=1+1",
        "a\t=1+1\tb",
        "a|=1+1|b",
        'a;"=1+1;b',
        'a;""=1+1;b',
        "a; \u200b＝1+1;b",
        "a\n=1+1;b",
        "a\r\n\t-1-1\tb",
        "a;'=1+1;b",
        ";|\t=1+1",
        "a;-2+3|@SUM(1)\t+1;b",
    ],
    ids=ascii,
)
def test_no_formulas_whatever_a_spreadsheet_splits_at(text: str, separator: str) -> None:
    encoded = encode_csv([["1", text, "end"]])
    rows = [*csv.reader(io.StringIO(encoded.decode(), newline=""), delimiter=separator)]
    assert not [cell for row in rows for cell in row if looks_like_formula(cell)]
    assert [*decode_csv(encoded)] == [["1", text, "end"]]


@given(st.lists(st.lists(texts, min_size=2, max_size=3), max_size=4), st.sampled_from(SEPARATORS))
def test_rows_have_no_formulas_whatever_they_are_split_at(
    rows: list[list[str]], separator: str
) -> None:
    reader = csv.reader(io.StringIO(encode_csv(rows).decode(), newline=""), delimiter=separator)
    assert not [cell for row in reader for cell in row if looks_like_formula(cell)]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "a=1",
            "1+1",
            "'quoted'",
            "'",
            "''",
            " x",
            "é＝",
            "#adm1+name",
            'a"=1',
            "١",
            '"-5"',
            "'-5",
            "-5",
            "-0.5",
        ),
        *(
            "-1e-05",
            "a;b",
            "a; b=1",
            "a|b",
            "1;2,-3",
            "food - water",
            "x\ty",
            "a;(=1)",
            "line\nline",
            "a;'b",
        ),
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert read_cell(encode_csv([[text, "end"]])) == text


def test_cells_with_any_separator_are_quoted() -> None:
    """Some spreadsheets split at commas and semicolons alike."""
    assert encode_csv([["a;b", "a|b", "a\tb", "a b"]]) == b'"a;b","a|b","a\tb",a b\r\n'


def test_numbers_stay_numbers() -> None:
    assert encode_csv([[-1, -1.5, None]]) == b"-1,-1.5,\r\n"


@given(texts)
@example("'=1")
@example("''=1")
@example("' =1")
@example(" \n=1")
@example("\t'=1")
@example(";\t'=1")
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
