"""The parameters column."""

from collections.abc import Mapping

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, LIST, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


@pytest.mark.parametrize(
    ("kind", "parameters", "codes"),
    [
        ("text", "rows = 3", []),
        ("text", "rows=3=4", ["broken_parameters"]),
        ("integer", "anything=goes", []),
        ("select_one x", "randomize=true, seed=3", []),
        ("select_one x", "randomize=maybe", ["invalid_parameter"]),
        ("rank x", "seed=3", ["invalid_parameter"]),
        ("range", "start=one; finish=2", ["invalid_parameter", "unknown_parameter"]),
        ("audio", "quality=external", []),
        ("background-audio", "quality=external", ["invalid_parameter"]),
        ("geotrace", "incremental=no", ["invalid_parameter"]),
        ("select_one_from_file x.csv", "value=Key label=Text", []),
        ("select_one_from_file x.csv", "value=a*", ["invalid_parameter"]),
        ("audit", "location-priority=balanced", ["invalid_parameter"]),
        ("audit", "track-changes=true", []),
        ("audit", "location-priority=balanced location-min-interval=1 location-max-age=2", []),
    ],
)
def test_parameters(kind: str, parameters: str, codes: list[str]) -> None:
    header = ["type", "name", "label", "parameters"]
    row = [kind, None if kind == "audit" else "a", "A", parameters]
    sheets: Mapping[str, Rows] = {"survey": [header, row, GOOD]}
    if kind.endswith(" x"):
        sheets = {**sheets, "choices": [LIST, ["x", "1", "One"]]}
    if codes:
        assert sorted(problem.code for problem in rejection(xlsx(sheets)).problems) == codes
    else:
        assert isinstance(parse_workbook(xlsx(sheets), "form"), Form)
