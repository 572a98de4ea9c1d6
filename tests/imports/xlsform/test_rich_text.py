"""Texts with several formats keep the spaces between their parts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fieldgate.imports.xlsform.workbook_reader import read_workbook
from tests.imports.xlsform.workbooks import rich_text_xlsx

PARTS = st.lists(st.text("ab \"'&<é", min_size=1, max_size=5), min_size=1, max_size=4)


@settings(deadline=None)
@given(PARTS)
def test_text_is_the_sum_of_its_parts(parts: list[str]) -> None:
    (sheet,) = read_workbook(rich_text_xlsx({"survey": [["label", "end"], [parts, "x"]]}))
    assert sheet.rows[1][1][0] == "".join(parts).strip()
