"""Workbooks without a usable sheet."""

from collections.abc import Mapping

import pytest

from tests.imports.xlsform.forms import GOOD, HEADER, LIST, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


@pytest.mark.parametrize(
    ("sheets", "error_type"),
    [
        ({"survey": [HEADER, GOOD], "library": [HEADER, GOOD]}, "both_sheets"),
        ({"questions": [HEADER, GOOD], "choices": [LIST]}, "no_usable_sheet"),
    ],
)
def test_workbooks_without_a_form(sheets: Mapping[str, Rows], error_type: str) -> None:
    rejected = rejection(xlsx(sheets))
    assert rejected.error_type == error_type
    assert not rejected.problems


@pytest.mark.parametrize("sheets", [{"Sheet1": []}, {"Sheet1": [], "Sheet2": [[None, " "]]}])
def test_blank_workbook(sheets: Mapping[str, Rows]) -> None:
    assert rejection(xlsx(sheets)).error_type == "no_usable_sheet"
