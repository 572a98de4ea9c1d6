"""Messages as they are stored: short enough to be listed by the thousand, whatever a file holds."""

import json

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.imports.messages import (
    MAX_STORED_BYTES,
    MAX_STORED_ISSUES,
    MAX_VALUE_CHARS,
    localize_messages,
    serialize_issues,
)
from fieldgate.imports.xlsform import Issue

LONG = "é" * 30_000


def test_what_somebody_wrote_is_clipped() -> None:
    message = Message(
        "{type} is not a question type. Did you mean {guess}?", type=LONG, guess=Message("{name} …", name=LONG)
    )
    problem = Issue("unknown_type", message, LONG, 2, LONG)
    [stored] = serialize_issues([problem])
    assert len(json.dumps(stored)) < 6 * 5 * MAX_VALUE_CHARS
    shown = localize_messages(Language.FRENCH, {"problems": [stored]})["problems"][0]
    assert shown["message"].startswith("ééé")
    assert "… n'est pas un type de question" in shown["message"]
    assert (shown["row"], len(shown["sheet"]), len(shown["column"])) == (2, MAX_VALUE_CHARS, MAX_VALUE_CHARS)


def test_the_first_problems_are_kept_and_the_others_counted() -> None:
    few = [Issue("code", Message("Short."), "survey", row) for row in range(3)]
    assert [problem["row"] for problem in serialize_issues(few)] == [0, 1, 2]
    for count, message in ((MAX_STORED_ISSUES + 7, Message("Short.")), (400, Message("{name}", name=LONG))):
        many = [Issue("code", message, "survey", row) for row in range(count)]
        *kept, last = serialize_issues(many)
        assert [problem["row"] for problem in kept] == list(range(len(kept)))
        assert (last["code"], last["message"]["values"]) == ("more", {"count": count - len(kept)})
        assert len(json.dumps(kept, ensure_ascii=False).encode()) < 1.1 * MAX_STORED_BYTES
