"""Check the `trigger` column: the questions whose answers start a calculation."""

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.xpath.expressions import find_references


def check_triggers(form: ParsedForm, issues: IssueCollector) -> None:
    """References to unknown questions are reported by `check_references`."""
    sheet, column = form.survey.sheet_name, form.survey.header("trigger")
    groups = {question.name for question in form.questions if question.type.begins}
    asked = {question.name: question for question in form.questions if not question.type.begins}
    for question in form.questions:
        text, row = question.row.text("trigger"), question.row.number
        if text is None and question.type.name == "background-geopoint":
            message = Message(
                "Enter a trigger such as ${name}: the question whose answer starts recording the location."
            )
            issues.add_problem("missing_trigger", message, sheet, row, column)
        elif text and ("${" not in text or any(len(find_references(part).names) > 1 for part in text.split(","))):
            message = Message("Write the trigger as ${name}. Separate several triggers with commas.")
            issues.add_problem("broken_trigger", message, sheet, row, column)
        for name in find_references(text or "").names:
            if name in groups and name not in asked:
                message = Message("{name} is a group. Only the answer to a question can be a trigger.", name=name)
                issues.add_problem("group_as_trigger", message, sheet, row, column)
            elif name in asked and _is_hidden(asked[name]):
                message = Message(
                    "{name} is not shown to people, so it cannot be a trigger. Choose a question that they answer.",
                    name=name,
                )
                issues.add_problem("hidden_trigger", message, sheet, row, column)


def _is_hidden(question: Question) -> bool:
    """Whether the question is only calculated: pyxform does not allow such a trigger."""
    row = question.row
    is_calculated = "calculation" in row or "trigger" in row
    return question.type.name == "calculate" or (is_calculated and "label" not in row and "hint" not in row)
