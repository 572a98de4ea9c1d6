"""Tables and JSON on a terminal."""

import io

import msgspec
from fieldgate_client.cli.output import TerminalFile
from fieldgate_client.terminal_text import display_width, format_table
from hypothesis import example, given
from hypothesis import strategies as st


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
    assert not any(ord(each) < 32 or 127 <= ord(each) < 160 for each in written.decode().rstrip("\n"))
