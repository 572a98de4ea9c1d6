"""Texts of servers and files in a terminal: nothing that controls it, and the width that they really take."""

import io
import unicodedata

import msgspec
import pytest
from fieldgate_client.cli.output import TerminalFile
from fieldgate_client.terminal_text import clean_line, clean_text, display_width, format_table
from hypothesis import example, given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jclear", "clear"),
        ("\x1b]never ended", ""),
        ("\x1bcreset", "reset"),
        ("bell\x07 back\x08 null\x00 delete\x7f", "bell back null delete"),
        ("over\rwrite", "overwrite"),
        ("\u202eevil\u202c", "evil"),
        ("half \ud83d", "half "),
        ("two\nlines\tand a tab", "two\nlines and a tab"),
        ("می‌خواهم 你好 é", "می‌خواهم 你好 é"),
    ],
)
def test_what_controls_a_terminal_is_removed(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


@given(st.text(st.characters() | st.sampled_from("\x1b\x9b]\\[\x07;m0\n")))
def test_no_control_character_is_left(text: str) -> None:
    kept = clean_line(text)
    assert not [each for each in kept if unicodedata.category(each) in ("Cc", "Cs")]
    kept.encode()


def test_table_wraps_wide_columns() -> None:
    table = format_table(
        ["a", "message"], [["x", "one two three four five six seven eight"], ["yy", "short"]], 25
    )
    assert table.splitlines() == [
        "a   message",
        "x   one two three four",
        "    five six seven eight",
        "yy  short",
    ]


def test_wide_characters_are_aligned() -> None:
    table = format_table(["a", "b"], [["日本", "x"], ["e\u0301", "y"]], 80)
    assert {display_width(line[:-1]) for line in table.splitlines()[1:]} == {6}


def test_csv_on_a_terminal_cannot_control_it() -> None:
    file = io.BytesIO()
    TerminalFile(file).write("name\r\n\x1b]0;title\x07\x9b31mFlood\x7f\tÄ\r\n".encode())
    assert file.getvalue().decode() == "name\r\n\\u001b]0;title\\u0007\\u009b31mFlood\\u007f\tÄ\r\n"


@given(st.text(max_size=50))
@example("\x7f\x9b31m\x1b")
def test_json_on_a_terminal_stays_the_same_json(text: str) -> None:
    file = io.BytesIO()
    TerminalFile(file).write(msgspec.json.encode([text]) + b"\n")
    written = file.getvalue()
    assert msgspec.json.decode(written) == [text]
    assert not any(
        ord(each) < 32 or 127 <= ord(each) < 160 for each in written.decode().rstrip("\n")
    )
