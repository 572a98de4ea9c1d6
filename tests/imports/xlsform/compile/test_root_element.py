"""The root of an XForm has another name where a question would be confused with it."""

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER
from tests.imports.xlsform.workbooks import Rows, xlsx

UID = "aKm3pVw8ZtQ2xYcRnB5dFh"
REFERENCE = ["note", "n", "You said ${data}"]


def root_of(rows: Rows, settings_rows: Rows = (), asset_uid: str | None = UID) -> str:
    form = parse_workbook(
        xlsx({"survey": [HEADER, *rows], "settings": settings_rows}), "form", asset_uid
    )
    assert isinstance(form, Form)
    instance = next(
        ElementTree.fromstring(form.xform).iter("{http://www.w3.org/2002/xforms}instance")
    )
    return instance[0].tag.rpartition("}")[2]


def test_usual_root() -> None:
    assert root_of([GOOD]) == "data"
    assert root_of([["text", "data", "A"]]) == "data", "no reference: the same as from pyxform"
    assert root_of([GOOD], [["name"], ["household"]]) == "household"
    assert (
        root_of([["begin repeat", "data", "R"], GOOD, ["end repeat"]], [["name"], ["household"]])
        == "household"
    )


@pytest.mark.parametrize("name", ["data", "household"])
def test_uid_replaces_a_root_that_is_taken(name: str) -> None:
    named: Rows = [["name"], [name]]
    assert root_of([["begin repeat", name, "R"], GOOD, ["end repeat"]], named) == UID
    assert root_of([["text", name, "A"], ["note", "n", f"You said ${{{name}}}"]], named) == UID
    assert (
        root_of([["text", name, "A"], ["note", "n", f"Before: ${{last-saved#{name}}}"]], named)
        == UID
    )


@given(st.sets(st.sampled_from(["data_2", "data_3", UID])))
def test_root_without_uid_is_a_free_name(taken: set[str]) -> None:
    rows: list[Any] = [
        ["text", "data", "A"],
        REFERENCE,
        *(["text", name, "B"] for name in sorted(taken)),
    ]
    for asset_uid in (None, UID):
        assert root_of(rows, asset_uid=asset_uid) not in {"data", *taken}
