"""The `parameters` column: which settings a type of question takes, and with which values."""

import re
from collections.abc import Iterator

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.xml_names import is_xml_name

ANY, WHOLE, NUMBER, NAME = "any", "whole", "number", "name"
_Values = str | tuple[str, ...]  # a kind of value, or all there are

_TRUTH = ("true", "false")
_QUALITY = ("voice-only", "low", "normal")
_SELECT: dict[str, _Values] = {"randomize": _TRUTH, "seed": ANY}
_FROM_FILE: dict[str, _Values] = {**_SELECT, "value": NAME, "label": NAME}
_PLACE: dict[str, _Values] = {"allow-mock-accuracy": _TRUTH, "reference-geometry": ANY}
_LINE: dict[str, _Values] = {**_PLACE, "incremental": ("true", "yes")}

# Types that are not here take whatever is written.
PARAMETERS: dict[str, dict[str, _Values]] = {
    "text": {"rows": WHOLE},
    "image": {"max-pixels": WHOLE, "app": ANY},
    "audio": {"quality": (*_QUALITY, "external")},
    "background-audio": {"quality": _QUALITY},
    "range": {
        "start": NUMBER,
        "end": NUMBER,
        "step": NUMBER,
        "tick_interval": NUMBER,
        "placeholder": NUMBER,
        "tick_labelset": ANY,
    },
    "geopoint": {**_PLACE, "capture-accuracy": NUMBER, "warning-accuracy": NUMBER},
    "geotrace": _LINE,
    "geoshape": _LINE,
    "select_one": _SELECT,
    "select_multiple": _SELECT,
    "select_one_external": _SELECT,
    "rank": _SELECT,
    "select_one_from_file": _FROM_FILE,
    "select_multiple_from_file": _FROM_FILE,
    "audit": {
        "track-changes": _TRUTH,
        "track-changes-reasons": ("on-form-edit",),
        "identify-user": _TRUTH,
        "location-priority": ("no-power", "low-power", "balanced", "high-accuracy"),
        "location-min-interval": WHOLE,
        "location-max-age": WHOLE,
    },
}
_LOCATION = {"location-priority", "location-min-interval", "location-max-age"}

_TOKEN = re.compile(r"[^\s=,;]+|=")


def check_parameters(draft: Draft, findings: Findings) -> None:
    for question in draft.questions:
        text = question.row.text("parameters")
        for code, message in _troubles(question, text) if text else ():
            column = draft.survey.header("parameters")
            findings.problem(code, message, draft.survey.sheet, question.row.number, column)


def _troubles(question: Question, text: str) -> Iterator[tuple[str, Message]]:
    given = _parsed(text)
    if given is None:
        yield "broken_parameters", Message("Write parameters as name=value, with a space between one and the next.")
        return
    taken = PARAMETERS.get(question.type.name)
    if taken is None:
        return
    for name, value in given.items():
        if name not in taken:
            yield (
                "unknown_parameter",
                Message(
                    "{type} has no parameter {name}. It takes: {names}.",
                    type=question.type.name,
                    name=name,
                    names=", ".join(taken),
                ),
            )
        elif message := _wrong_value(name, value, taken[name]):
            yield "invalid_parameter", message
    if "seed" in taken and "seed" in given and "randomize" not in given:
        yield "invalid_parameter", Message("Add randomize=true: a seed means nothing without it.")
    if _LOCATION & taken.keys() and 0 < len(_LOCATION & given.keys()) < len(_LOCATION):
        yield "invalid_parameter", Message("Give all of {names}, or none.", names=", ".join(sorted(_LOCATION)))


def _parsed(text: str) -> dict[str, str] | None:
    tokens = _TOKEN.findall(text)
    names, signs, values = tokens[0::3], tokens[1::3], tokens[2::3]
    if len(tokens) % 3 or any(sign != "=" for sign in signs) or "=" in names or "=" in values:
        return None
    # A file may have columns in capitals; all else is read in small letters.
    given = {name.lower(): value for name, value in zip(names, values, strict=True)}
    return {
        name: value if name in _FROM_FILE.keys() - _SELECT.keys() else value.lower() for name, value in given.items()
    }


def _wrong_value(name: str, value: str, wanted: _Values) -> Message | None:
    if isinstance(wanted, tuple) and value not in wanted:
        return Message(
            "{name} cannot be {value}. It is one of: {values}.", name=name, value=value, values=", ".join(wanted)
        )
    if wanted == WHOLE and not _reads_as(int, value):
        return Message("{name} cannot be {value}. Enter a whole number.", name=name, value=value)
    if wanted == NUMBER and not _reads_as(float, value):
        return Message("{name} cannot be {value}. Enter a number.", name=name, value=value)
    if wanted == NAME and not is_xml_name(value):
        return Message("{name} cannot be {value}. Enter the name of a column of the file.", name=name, value=value)
    return None


def _reads_as(kind: type[int] | type[float], value: str) -> bool:
    try:
        kind(value)
    except ValueError:
        return False
    return True
