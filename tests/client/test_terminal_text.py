"""Texts of servers and files in a terminal: nothing that controls it, and the width that they really take."""

import unicodedata

import pytest
from fieldgate_client.terminal_text import clean_line, clean_text, clip_text, display_width, pad_text, wrap_text
from hypothesis import given
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


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("한국", 4),
        ("مرحبا", 5),
        ("नमस्ते", 4),
        ("a\u200db", 2),
        ("ｆ", 2),
        ("", 0),
    ],
)
def test_width(text: str, width: int) -> None:
    assert display_width(text) == width
    assert display_width(pad_text(text, 10)) == 10


def test_clipping() -> None:
    assert clip_text("short", 5) == "short"
    assert clip_text("a long text", 5) == "a lo…"
    assert clip_text("日本語日本語", 5) == "日本…"


def test_wrapping() -> None:
    assert wrap_text("one two three four", 9) == ["one two", "three", "four"]
    assert wrap_text("", 9) == [""]
    assert wrap_text("abcdefghij klm", 4) == ["abcd", "efgh", "ij", "klm"]
    assert wrap_text("日本語のラベルです", 7) == ["日本語", "のラベ", "ルです"]


@given(st.text(st.sampled_from("ab 日é\u0301مé한 \u200d")), st.integers(2, 20))
def test_lines_are_never_too_wide_and_nothing_is_lost(text: str, width: int) -> None:
    lines = wrap_text(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
