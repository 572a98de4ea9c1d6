"""Text without tags: what is kept, and that it takes no longer than the text is long."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.plain_text import to_plain_text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", ""),
        ("Plain, as\nit is", "Plain, as\nit is"),
        ("Cause &amp; effect", "Cause & effect"),
        ("<p>One</p><p>Two<br/>three</p>", "One\nTwo\nthree"),
        ("<P CLASS='x'>One\n  two</P>", "One two"),
        ("<ul><li>a</li><li><b>b</b></li><li></li></ul>", "• a\n• b"),
        ("before<script>alert('<p>1</p>')</script>after", "beforeafter"),
        ("<STYLE>p { color: red }</STYLE>text", "text"),
        ("<script>never closed", ""),
        ("a<!-- hidden --!> > -->b", "ab"),
        ("a <!-- never closed", "a"),
        ("<img src=x onerror=alert(1)>text", "text"),
        ("fewer < 5 & more > 3", "fewer < 5 & more > 3"),
        ("<p>&lt;b&gt; and &amp;lt;</p>", "<b> and &lt;"),
        ("5 <6 <", "5 <6 <"),
        ("text<a href='", "text"),
        ("</ p>x</>y", "xy"),
        ("İ<script>İ</script>z", "İz"),  # its lower case is longer
        ("<p>a\0b&nbsp;c</p>", "ab c"),
        ("<p>12\u202f000\n personnes</p>", "12\u202f000 personnes"),
    ],
)
def test_text_of_html(source: str, expected: str) -> None:
    assert to_plain_text(source) == expected


@given(st.text())
def test_escaped_text_comes_back(text: str) -> None:
    escaped = html.escape(text)
    assert to_plain_text(escaped) == html.unescape(escaped)


TAGS = st.sampled_from(
    ["<b>", "</b>", "<p>", "</p>", "<a href='x'>", "<br>", "<script>x</script>", "<!-- x -->"]
)


@given(st.lists(TAGS | st.from_regex(r"[a-z ]{0,5}", fullmatch=True)))
def test_no_tag_is_left_and_no_word_is_lost(pieces: list[str]) -> None:
    text = to_plain_text("".join(pieces))
    assert "<" not in text
    assert "".join(text.split()) == "".join(
        piece for piece in pieces if not piece.startswith("<")
    ).replace(" ", "")


@pytest.mark.parametrize(
    "piece", ["<", "<div>", "<a ", "</p", "<!--", "<script", "&", "<style>", "&amp;lt;"]
)
def test_long_hostile_text_ends(piece: str) -> None:
    """Each would take minutes or hours if the time grew with the square of the length."""
    assert len(to_plain_text(piece * 100_000)) <= len(piece) * 100_000
