"""The name of the root element of an XForm."""

from collections.abc import Iterator
from itertools import chain, count

from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.vocabulary import ROOT_NAME


def root_name(form: ParsedForm, asset_uid: str | None = None) -> str:
    """The root that the settings name, or `data`. Another name where pyxform would confuse it with a question.

    pyxform allows a question with the name of the root, but no repeat, and no reference to the question.
    """
    root = form.settings.get("name", ROOT_NAME)
    return next(_free_names(form, asset_uid)) if _is_confused(root, form) else root


def _is_confused(root: str, form: ParsedForm) -> bool:
    named = [question for question in form.questions if question.name == root]
    return any(question.type.begins == "repeat" for question in named) or (bool(named) and _is_referred_to(root, form))


def _is_referred_to(name: str, form: ParsedForm) -> bool:
    references = (f"${{{name}}}", f"${{last-saved#{name}}}")
    return any(
        reference in cell.text
        for table in (form.survey, *form.sheets.values())
        for row in table.rows
        for cell in row.cells
        for reference in references
    )


def _free_names(form: ParsedForm, asset_uid: str | None) -> Iterator[str]:
    taken = {question.name for question in form.questions}
    names = chain([asset_uid or ROOT_NAME, ROOT_NAME], (f"{ROOT_NAME}_{number}" for number in count(2)))
    return (name for name in names if name not in taken)
