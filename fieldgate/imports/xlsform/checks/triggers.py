"""The `trigger` column: the questions whose answers set a calculation going."""

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.xpath.expressions import references


def check_triggers(draft: Draft, findings: Findings) -> None:
    """References to nothing are found with all others."""
    sheet, column = draft.survey.sheet, draft.survey.header("trigger")
    groups = {question.name for question in draft.questions if question.type.begins}
    asked = {question.name for question in draft.questions if not question.type.begins}
    for question in draft.questions:
        text, row = question.row.text("trigger"), question.row.number
        if text is None and question.type.name == "background-geopoint":
            message = Message("Enter a trigger, as ${name}: the question whose answer has the place recorded.")
            findings.problem("missing_trigger", message, sheet, row, column)
        elif text and ("${" not in text or any(len(references(part).names) > 1 for part in text.split(","))):
            message = Message("Write the trigger as ${name}, with commas between several.")
            findings.problem("broken_trigger", message, sheet, row, column)
        for name in references(text or "").names:
            if name in groups - asked:
                message = Message("{name} is a group. Only the answer to a question can be a trigger.", name=name)
                findings.problem("group_as_trigger", message, sheet, row, column)
