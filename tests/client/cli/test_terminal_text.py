"""Text of servers on a terminal."""

import io

import msgspec
import pytest
from fieldgate_client.cli.terminal_text import (
    MIN_WRAPPED_CHARS,
    TerminalJSON,
    clean_text,
    display_width,
    fit_widths,
    format_table,
)
from hypothesis import example, given
from hypothesis import strategies as st

# Characters that a terminal obeys, in any combination with text.
HOSTILE = st.text(st.sampled_from("\x1b\x9b\x9d\x07\x9c\\[]()P_^X0;1mHJ?aé\n\t\r\x00\x7f\u202e"), max_size=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, Ñandú, مرحبا", "plain, Ñandú, مرحبا"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1;2qdata\x1b\\after", "after"),
        ("\x9b2Jcleared", "cleared"),
        ("\x9d52;c;aGk=\x9cafter", "after"),
        ("over\rwritten\x08\x08", "overwritten"),
        ("two\r\nlines\tand a tab", "two\nlines\tand a tab"),
        ("abc\u202edef", "abcdef"),
        ("\x1b]0;never ends", ""),
        ("\x1bcreset", "reset"),
    ],
)
def test_escape_sequences_are_removed(text: str, expected: str) -> None:
    assert clean_text(text) == expected


@given(HOSTILE)
@example("\x1b\x1b[[31m")
@example("\x1b")
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    cleaned = clean_text(text)
    assert not any(ord(each) < 32 and each not in "\n\t" or 127 <= ord(each) < 160 for each in cleaned)
    assert "\u202e" not in cleaned
    assert clean_text(cleaned) == cleaned


def test_table_wraps_wide_columns() -> None:
    table = format_table(["a", "message"], [["x", "one two three four five six seven eight"], ["yy", "short"]], 25)
    assert table.splitlines() == [
        "a   message",
        "x   one two three four",
        "    five six seven eight",
        "yy  short",
    ]


def test_cells_stay_in_their_row() -> None:
    table = format_table(["a", "b"], [["line\nbreak", "\x1b[2Jx"]], 80)
    assert table.splitlines() == ["a           b", "line break  x"]


def test_wide_characters_are_aligned() -> None:
    table = format_table(["a", "b"], [["日本", "x"], ["e\u0301", "y"]], 80)
    assert {display_width(line[:-1]) for line in table.splitlines()[1:]} == {6}


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.integers(0, 400))
def test_widths_fit_if_possible(widths: list[int], available: int) -> None:
    fitted = fit_widths(widths, available)
    assert all(after <= before for after, before in zip(fitted, widths, strict=True))
    fits = sum(fitted) + 2 * (len(fitted) - 1) <= available
    assert fits or max(fitted) <= MIN_WRAPPED_CHARS
    assert not fits or fitted == widths or sum(fitted) + 2 * (len(fitted) - 1) == available, "no narrower than needed"


@given(st.text(max_size=50))
@example("\x7f\x9b31m\x1b")
def test_json_on_a_terminal_stays_the_same_json(text: str) -> None:
    file = io.BytesIO()
    TerminalJSON(file).write(msgspec.json.encode([text]) + b"\n")
    written = file.getvalue()
    assert msgspec.json.decode(written) == [text]
    assert not any(ord(each) < 32 or 127 <= ord(each) < 160 for each in written.decode().rstrip("\n"))
