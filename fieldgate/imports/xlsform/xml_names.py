"""Valid XML names. Questions become elements of an XML document."""

import re

from fieldgate.i18n.messages import Message

_NAME_START = (
    r"A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    r"\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_CHARS = r"\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
# The pattern of a name without and with a prefix.
NCNAME = rf"[{_NAME_START}][{_NAME_START}{_NAME_CHARS}]*+"
QNAME = rf"{NCNAME}(?::{NCNAME})?+"
_NAME = re.compile(QNAME)


# Declared in every XForm.
_DEFAULT_PREFIXES = frozenset({"h", "ev", "xsd", "jr", "orx", "odk", "xml", "entities"})


def is_xml_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text))


def invalid_name_message(name: str) -> Message:
    return Message(
        "{name} cannot be a name. Begin with a letter or _ and use letters, digits, _, - and . only.",
        name=name,
    )


def declared_prefixes(namespaces: str) -> frozenset[str]:
    """The prefixes of every XForm, and those of the setting `namespaces`, as in `esri="http://esri.com/xforms"`."""
    pairs = (part.split("=") for part in namespaces.split())
    return _DEFAULT_PREFIXES | {pair[0] for pair in pairs if len(pair) == 2}
