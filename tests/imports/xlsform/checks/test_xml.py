"""Names of elements and attributes of the XForm."""

from collections.abc import Mapping

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, Place, place, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


@pytest.mark.parametrize(
    ("sheets", "code", "where"),
    [
        ({"survey": [HEADER, ["text", "a:b", "A"]]}, "undeclared_prefix", Place("survey", 2, "name")),
        (
            {"survey": [[*HEADER, "bind::nodeset"], ["note", "n", "N", "x"]]},
            "invalid_attribute",
            Place("survey", 2, "bind::nodeset"),
        ),
        (
            {"survey": [[*HEADER, "Body::nodeset"], [*GOOD, "x"], ["begin repeat", "r", "R", "x"], ["end repeat"]]},
            "invalid_attribute",
            Place("survey", 3, "Body::nodeset"),
        ),
        (
            {
                "survey": [[*HEADER, "bind::type"], [*GOOD, "int"], ["select_one l", "s", "S", "int"]],
                "choices": [["list_name", "name", "label"], ["l", "1", "One"]],
            },
            "invalid_attribute",
            Place("survey", 3, "bind::type"),
        ),
        (
            {"survey": [HEADER, GOOD], "settings": [["attribute::a b"], ["1"]]},
            "invalid_attribute",
            Place("settings", 2, "attribute::a b"),
        ),
        (
            {"survey": [HEADER, GOOD], "settings": [["attribute::a:b"], ["1"]]},
            "undeclared_prefix",
            Place("settings", 2, "attribute::a:b"),
        ),
        (
            {"survey": [HEADER, GOOD], "settings": [["name"], ["a:b"]]},
            "undeclared_prefix",
            Place("settings", 2, "name"),
        ),
        (
            {"survey": [HEADER, GOOD], "settings": [["namespaces"], ['1a="http://x.org"']]},
            "malformed_xform",
            Place(None, None, None),
        ),
    ],
)
def test_names_that_are_not_valid_xml(sheets: Mapping[str, Rows], code: str, where: Place) -> None:
    assert [(problem.code, place(problem)) for problem in rejection(xlsx(sheets)).problems] == [(code, where)]


def test_only_the_first_row_of_settings_is_compiled() -> None:
    sheets: Mapping[str, Rows] = {"survey": [HEADER, GOOD], "settings": [["name"], ["first"], ["a:b"]]}
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert "<first " in form.xform


def test_declared_prefixes() -> None:
    form = parse_workbook(
        xlsx(
            {
                "survey": [[*HEADER, "bind::foo:bar"], [*GOOD, "x"], ["text", "foo:a", "A"]],
                "settings": [["namespaces", "attribute::foo:c"], ['foo="http://x.org"', "1"]],
            }
        ),
        "form",
    )
    assert isinstance(form, Form)
    assert 'foo:bar="x"' in form.xform
