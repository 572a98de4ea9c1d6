"""A large form."""

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.workbooks import xlsx

GROUPS, QUESTIONS = 15, 20


def household_survey() -> bytes:
    """Three hundred questions in groups, in two languages, with logic between them."""
    languages = ("English (en)", "French (fr)")
    header = ["type", "name", *(f"{key}::{language}" for key in ("label", "hint") for language in languages)]
    survey: list[list[object]] = [[*header, "relevant", "constraint", "required"]]
    kinds = ["text", "integer", "select_one yes_no", "select_multiple fruit", "date"]
    for group in range(GROUPS):
        survey.append(["begin group", f"g{group}", f"Part {group}", f"Partie {group}"])
        for index in range(QUESTIONS):
            number = group * QUESTIONS + index
            relevant = f"${{q{number - 1}}} != '' and count-selected(${{q3}}) >= {index}" if number > 3 else None
            constraint = ". >= 0 and . < 150" if index % 5 == 1 else None
            texts = [f"Question {number}?", f"Question numéro {number} ?", "Ask gently", "Demandez doucement"]
            survey.append([kinds[index % 5], f"q{number}", *texts, relevant, constraint, "yes"])
        survey.append(["end group"])
    choices = [["list_name", "name", *(f"label::{language}" for language in languages)]]
    choices += [
        [kind, name, name.title(), name.upper()] for kind in ("yes_no", "fruit") for name in ("yes", "no", "fig")
    ]
    return xlsx({"survey": survey, "choices": choices, "settings": [["form_title"], ["Household survey"]]})


def test_form_of_300_questions() -> None:
    form = parse_workbook(household_survey(), "household")
    assert isinstance(form, Form)
    assert form.row_count == GROUPS * QUESTIONS
    assert form.summary["languages"] == ["English (en)", "French (fr)"]
    assert not form.warnings
    assert form.xform.count("<bind ") >= GROUPS * QUESTIONS
