"""The title of an XForm is replaced by the name of its asset."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.assets.store import set_title

XFORM = (
    '<?xml version="1.0"?><h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:head><h:title>{title}</h:title></h:head>'
    "<h:body><label>&lt;h:title&gt;Not this&lt;/h:title&gt;</label></h:body></h:html>"
)
XML_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")
)


def title(xform: str) -> str:
    head, body = ElementTree.fromstring(xform)
    assert body[0].text == "<h:title>Not this</h:title>"
    return head[0].text or ""


@given(XML_TEXT, XML_TEXT)
def test_any_name_becomes_the_title(first: str, second: str) -> None:
    once = set_title(XFORM.format(title="Old &amp; long"), first)
    assert title(once) == first
    assert title(set_title(once, second)) == second


def test_empty_title_and_characters_that_xml_does_not_allow() -> None:
    assert (
        title(set_title(XFORM.replace("<h:title>{title}</h:title>", "<h:title/>"), "New")) == "New"
    )
    assert title(set_title(XFORM, "A\x0b\x00B\ud800\uffff")) == "AB"
