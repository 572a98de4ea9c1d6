"""Locking profiles: what is kept, and what a summary says about them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.imports.xlsform import Form, parse_workbook
from fieldgate.imports.xlsform.locking import RESTRICTIONS, has_locking, strip_locking
from fieldgate.imports.xlsform.summary import summarise
from tests.imports.xlsform.forms import GOOD, HEADER
from tests.imports.xlsform.workbooks import Rows, xlsx

SHEET = "kobo--locking-profiles"
MARKS = st.sampled_from([None, "locked", "LOCKED", "no"])


def parse(profiles: Rows, survey: Rows = (HEADER, GOOD), settings_rows: Rows = ()) -> Form:
    form = parse_workbook(
        xlsx({"survey": survey, "settings": settings_rows, SHEET: profiles}), "form"
    )
    assert isinstance(form, Form)
    return form


@given(st.dictionaries(st.sampled_from(RESTRICTIONS), st.tuples(MARKS, MARKS), min_size=1))
def test_profiles_are_what_the_sheet_marks(rows: dict[str, tuple[str | None, str | None]]) -> None:
    form = parse(
        [["restriction", "One", "two words"], *([name, *marks] for name, marks in rows.items())]
    )
    expected = [
        {
            "name": profile,
            "restrictions": [
                name for name, marks in rows.items() if (marks[index] or "").lower() == "locked"
            ],
        }
        for index, profile in enumerate(["One", "two words"])
    ]
    assert form.content[SHEET] == expected
    stripped = strip_locking(form.content)
    assert not has_locking(stripped)
    assert stripped["survey"] == form.content["survey"]


@pytest.mark.parametrize(
    ("column", "setting", "locks"),
    [
        (None, [], None),
        ("p", [], (False, True)),
        (None, ["kobo--lock_all", "yes"], (True, True)),
        (None, ["kobo--lock_all", "no"], (False, False)),
        (None, ["kobo--locking-profile", "p"], (False, True)),
    ],
)
def test_summary(column: str | None, setting: list[str], locks: tuple[bool, bool] | None) -> None:
    survey: Rows = [[*HEADER, *(["kobo--locking-profile"] if column else [])], [*GOOD, column]]
    form = parse_workbook(xlsx({"survey": survey, "settings": [setting[:1], setting[1:]]}), "form")
    assert isinstance(form, Form)
    found = (form.summary.get("lock_all"), form.summary.get("lock_any"))
    assert found == (locks or (None, None))
    unlocked = strip_locking(form.content)
    assert not {"lock_all", "lock_any"} & summarise(unlocked).keys()
    assert (form.unlocked is None) == (locks is None)
    assert form.unlocked is None or (form.unlocked.content, form.unlocked.summary) == (
        unlocked,
        summarise(unlocked),
    )
