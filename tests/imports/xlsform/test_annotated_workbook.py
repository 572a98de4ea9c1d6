"""The copy of a workbook with its problems marked."""

import io
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from fieldgate.imports.sheet_excerpts import IssueComment
from fieldgate.imports.xlsform import FormRejected, annotate_workbook
from fieldgate.imports.xlsform.workbook_reader import read_workbook
from tests.imports.xlsform.test_any_form import SHEETS, grids
from tests.imports.xlsform.test_excerpt_builder import HOUSEHOLD, rejection_of
from tests.imports.xlsform.workbooks import ods, xls, xlsm, xlsx

NO_COLOUR = "00000000"


def comments_of(rejection: FormRejected) -> list[IssueComment]:
    return [
        *(
            IssueComment("problem", str(each.message), each.sheet, each.row, each.column)
            for each in rejection.problems
        ),
        *(
            IssueComment("warning", str(each.message), each.sheet, each.row, each.column)
            for each in rejection.warnings
        ),
    ]


def annotated(data: bytes, *comments: IssueComment) -> Workbook:
    return load_workbook(io.BytesIO(annotate_workbook(data, comments)))


def marked(book: Workbook) -> dict[tuple[str, str], str]:
    return {
        (sheet.title, cell.coordinate): cell.comment.text
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.comment
    }


@pytest.mark.parametrize("write", [xlsx, xlsm, xls, ods], ids=lambda write: str(write.__name__))
def test_cells_with_problems_have_colour_and_comment(write: Any) -> None:
    data = write(HOUSEHOLD)
    book = annotated(data, *comments_of(rejection_of(data)))
    assert marked(book) == {
        ("survey", "A4"): "integr is not a question type. Did you mean integer?",
        (
            "survey",
            "A5",
        ): "There is no list yesno in sheet choices. Add it there, or correct its name here.",
        ("survey", "D8"): "No question is named agee. Correct the reference, or add the question.",
        ("choices", "B3"): "The name yes is taken by row 2. Choose another name.",
    }
    survey = book["survey"]
    assert survey["A4"].value == "integr"
    assert (survey["A4"].fill.fgColor.rgb, survey["A4"].border.left.style) == ("FFF4DCDC", "medium")
    assert book["choices"]["B3"].fill.fgColor.rgb == "FFFFF0C2"
    assert survey["B4"].fill.fgColor.rgb == NO_COLOUR


def test_comments_without_a_cell() -> None:
    book = annotated(
        xlsx({"survey": [[], ["", "type", "name"], ["", "text", ""]]}),
        IssueComment("warning", "about the file"),
        IssueComment("problem", "about the sheet", "survey"),
        IssueComment("warning", "about the row", "survey", 3),
        IssueComment("problem", "about a missing row", "survey", 88, "name"),
        IssueComment("problem", "about an empty cell", "survey", 3, "name"),
        IssueComment("problem", "about another sheet", "gone", 2),
    )
    assert marked(book) == {
        ("survey", "B2"): "about the file\n\nabout the sheet",
        ("survey", "B3"): "about the row",
        ("survey", "C2"): "about a missing row",
        ("survey", "C3"): "about an empty cell",
    }
    assert book["survey"]["B2"].fill.fgColor.rgb == "FFF4DCDC", (
        "a problem counts more than a warning"
    )


def test_formulas_links_and_macros_are_left_out() -> None:
    texts = [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "http://host.example/",
        "{=1}",
        "_x0041_",
        "=HYPERLINK(1)",
    ]
    source = Workbook()
    for row, text in enumerate(texts, 1):
        cell = source.active.cell(row=row, column=1, value=text)
        cell.data_type = "s"
    file = io.BytesIO()
    source.save(file)
    for data in (file.getvalue(), xlsm({"survey": [["type"], ["text"]]})):
        written = annotate_workbook(data, [IssueComment("problem", "=1+1 <b>&amp;</b>", None)])
        with zipfile.ZipFile(io.BytesIO(written)) as archive:
            assert not [
                name
                for name in archive.namelist()
                if "vba" in name.lower() or "external" in name.lower()
            ]
            sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        assert "<f>" not in sheet
        assert "hyperlink" not in sheet.lower()
    written = annotate_workbook(file.getvalue(), [])
    assert [row for _, row in read_workbook(written)[0].rows] == [
        row for _, row in read_workbook(file.getvalue())[0].rows
    ]


def test_sheet_names_that_excel_refuses() -> None:
    rows = "survey\n,type,name\n,text,a\n{0}\n,a,b\n{1}\n,a,b\n{1}\n,a,b\n'quoted'\n,a,b\n"
    book = annotated(
        rows.format("a/b:c*d?[e]", "n" * 40).encode(),
        IssueComment("problem", "text", "a/b:c*d?[e]", 5),
    )
    assert book.sheetnames == ["survey", "a_b_c_d__e_", "n" * 31, "n" * 27 + " (2)", "quoted"]
    assert marked(book) == {("a_b_c_d__e_", "A1"): "text"}


@given(st.dictionaries(SHEETS, grids(), min_size=1, max_size=3), st.data())
def test_copy_has_the_texts_of_the_file(
    sheets: dict[str, list[list[str]]], data: st.DataObject
) -> None:
    file = xlsx(sheets)
    places = st.tuples(
        st.sampled_from(sorted(sheets)), st.integers(1, 8), st.sampled_from(["type", "name", "?"])
    )
    comments = [
        IssueComment("problem", "text", *place) for place in data.draw(st.lists(places, max_size=5))
    ]
    copy = annotate_workbook(file, comments)
    assert _texts(copy) == _texts(file)


def _texts(data: bytes) -> dict[tuple[str, int, int], str]:
    return {
        (sheet.name, number, column): text
        for sheet in read_workbook(data)
        for number, texts in sheet.rows
        for column, text in enumerate(texts)
        if text
    }
