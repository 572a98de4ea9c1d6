"""Check the `parameters` column: the parameters of each type and their values."""

import re
from collections.abc import Iterator

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.xml_names import is_xml_name

ANY, INTEGER, NUMBER, NAME, SEED = "any", "whole", "number", "name", "seed"
_Values = str | tuple[str, ...]  # a kind of value, or all values allowed

_BOOLEANS = ("true", "false")
_QUALITY = ("voice-only", "low", "normal")
_SELECT_PARAMETERS: dict[str, _Values] = {"randomize": _BOOLEANS, "seed": SEED}
_FILE_SELECT_PARAMETERS: dict[str, _Values] = {**_SELECT_PARAMETERS, "value": NAME, "label": NAME}
_GEOPOINT_PARAMETERS: dict[str, _Values] = {
    "allow-mock-accuracy": _BOOLEANS,
    "reference-geometry": ANY,
}
_GEOLINE_PARAMETERS: dict[str, _Values] = {**_GEOPOINT_PARAMETERS, "incremental": ("true", "yes")}

# Types that are not listed accept any parameter.
PARAMETERS: dict[str, dict[str, _Values]] = {
    "text": {"rows": INTEGER},
    "image": {"max-pixels": INTEGER, "app": ANY},
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
    "geopoint": {**_GEOPOINT_PARAMETERS, "capture-accuracy": NUMBER, "warning-accuracy": NUMBER},
    "geotrace": _GEOLINE_PARAMETERS,
    "geoshape": _GEOLINE_PARAMETERS,
    "select_one": _SELECT_PARAMETERS,
    "select_multiple": _SELECT_PARAMETERS,
    "select_one_external": _SELECT_PARAMETERS,
    "rank": _SELECT_PARAMETERS,
    "select_one_from_file": _FILE_SELECT_PARAMETERS,
    "select_multiple_from_file": _FILE_SELECT_PARAMETERS,
    "audit": {
        "track-changes": _BOOLEANS,
        "track-changes-reasons": ("on-form-edit",),
        "identify-user": _BOOLEANS,
        "location-priority": ("no-power", "low-power", "balanced", "high-accuracy"),
        "location-min-interval": INTEGER,
        "location-max-age": INTEGER,
    },
}
_LOCATION_PARAMETERS = {"location-priority", "location-min-interval", "location-max-age"}

_REFERENCE = re.compile(r"\$\{[^}]+\}")
_TOKEN = re.compile(r"[^\s=,;]+|=")


def check_parameters(form: ParsedForm, issues: IssueCollector) -> None:
    for question in form.questions:
        text = question.row.text("parameters")
        for code, message in _parameter_issues(question, text) if text else ():
            issues.add_problem(code, message, *form.survey.place(question.row, "parameters"))


def _parameter_issues(question: Question, text: str) -> Iterator[tuple[str, Message]]:
    given = _parse_parameters(text)
    if given is None:
        yield "broken_parameters", Message("Write parameters as name=value, separated by spaces.")
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
        elif message := _invalid_value_message(name, value, taken[name]):
            yield "invalid_parameter", message
    if "seed" in taken and "seed" in given and "randomize" not in given:
        yield "invalid_parameter", Message("Add randomize=true: a seed has no effect without it.")
    if _LOCATION_PARAMETERS & taken.keys() and 0 < len(_LOCATION_PARAMETERS & given.keys()) < len(
        _LOCATION_PARAMETERS
    ):
        yield (
            "invalid_parameter",
            Message(
                "Enter all of {names}, or none of them.",
                names=", ".join(sorted(_LOCATION_PARAMETERS)),
            ),
        )


def _parse_parameters(text: str) -> dict[str, str] | None:
    tokens = _TOKEN.findall(text)
    names, signs, values = tokens[0::3], tokens[1::3], tokens[2::3]
    if len(tokens) % 3 or any(sign != "=" for sign in signs) or "=" in names or "=" in values:
        return None
    # Columns of a file are case-sensitive; everything else is lower case.
    given = {name.lower(): value for name, value in zip(names, values, strict=True)}
    return {
        name: value
        if name in _FILE_SELECT_PARAMETERS.keys() - _SELECT_PARAMETERS.keys()
        else value.lower()
        for name, value in given.items()
    }


def _invalid_value_message(name: str, value: str, allowed: _Values) -> Message | None:
    if isinstance(allowed, tuple) and value not in allowed:
        return Message(
            "{name} cannot be {value}. It is one of: {values}.",
            name=name,
            value=value,
            values=", ".join(allowed),
        )
    if allowed == INTEGER and not _is_parseable_as(int, value):
        return Message("{name} cannot be {value}. Enter a whole number.", name=name, value=value)
    if allowed == NUMBER and not _is_parseable_as(float, value):
        return Message("{name} cannot be {value}. Enter a number.", name=name, value=value)
    if allowed == SEED and not (_REFERENCE.fullmatch(value) or _is_parseable_as(float, value)):
        return Message(
            "{name} cannot be {value}. Enter a number, or a question as ${{name}}.",
            name=name,
            value=value,
        )
    if allowed == NAME and not is_xml_name(value):
        return Message(
            "{name} cannot be {value}. Enter the name of a column of the file.",
            name=name,
            value=value,
        )
    return None


def _is_parseable_as(kind: type[int] | type[float], value: str) -> bool:
    try:
        kind(value)
    except ValueError:
        return False
    return True
