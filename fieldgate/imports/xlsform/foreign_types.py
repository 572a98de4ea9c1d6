"""Question types of other products, which the XLSForm standard does not have, and what to use instead of them."""

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.vocabulary import to_snake_case

_SURVEYCTO = {
    "text_audit": "audit",
    "audio_audit": "background-audio",
    "speed_violations_audit": "audit",
    "speed_violations_count": "audit",
    "speed_violations_list": "audit",
    "sensor_statistic": "",
    "sensor_stream": "",
    "calculate_here": "calculate",
    "caseid": "",
    "comments": "text",
    "devicephonenum": "phonenumber",
    "duration": "calculate",
    "enumerator": "select_one",
    "simid": "deviceid",
}
_COMMCARE = {
    "androidintent": "text",
    "checkbox": "select_multiple",
    "databindonly": "calculate",
    "documentupload": "file",
    "fieldlist": "begin_group",
    "hidden_value": "calculate",
    "label": "note",
    "loadupdatecase": "",
    "longint": "integer",
    "lookup_table": "select_one_from_file",
    "microimage": "image",
    "modeliteration": "begin_repeat",
    "mselect": "select_multiple",
    "mselectdynamic": "select_multiple_from_file",
    "question_list": "begin_group",
    "repeat_group": "begin_repeat",
    "savetocase": "",
    "secret": "text",
    "selectdynamic": "select_one_from_file",
    "trigger": "note",
}
_SURVEY123 = {
    "address": "text",
    "dropdown": "select_one",
    "likert": "select_one",
    "likert_scale": "select_one",
    "multiline_text": "text",
    "multiple_choice": "select_multiple",
    "rating": "range",
    "select_multiple_external": "select_multiple_from_file",
    "signature": "image",
    "single_choice": "select_one",
    "single_choice_grid": "select_one",
    "singleline_text": "text",
    "website": "text",
}
_TYPES = {
    spelling: (product, replacement)
    for product, types in (("SurveyCTO", _SURVEYCTO), ("CommCare", _COMMCARE), ("Survey123", _SURVEY123))
    for spelling, replacement in types.items()
}
_MAX_WORDS = max(spelling.count("_") + 1 for spelling in _TYPES)


def foreign_type_message(text: str) -> Message | None:
    """What to say about a type of another product, which may be followed by other words; None if it is not one."""
    words = text.split()
    for length in range(min(len(words), _MAX_WORDS), 0, -1):
        product, replacement = _TYPES.get(to_snake_case(" ".join(words[:length])), ("", ""))
        if replacement:
            return Message(
                "{type} belongs to {product}. Here, use {guess}.", type=text, product=product, guess=replacement
            )
        if product:
            return Message(
                "{type} belongs to {product}. There is nothing like it here: remove the row.",
                type=text,
                product=product,
            )
    return None
