"""The title of an XForm is the current name of its asset.

An XForm is compiled once, when its version is created. An asset can be renamed later.
"""

import re
from xml.sax.saxutils import escape

_TITLE = re.compile(r"<h:title(?:/>|>[^<]*</h:title>)")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def set_title(xform: str, title: str) -> str:
    """The XForm with another title. The first title is the one in the head: in texts the tag would be escaped."""
    element = f"<h:title>{escape(_NOT_XML.sub('', title))}</h:title>"
    return _TITLE.sub(lambda _: element, xform, count=1)
