"""Filters of submissions in words: “where team is north”, “from amina and omar”.

Names and values come from users. They are isolated (U+2068, U+2069), so that the direction of their script does not
disturb the sentence around them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from babel.lists import format_list

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate

SUBMITTED_BY = "_submitted_by"
MAX_LISTED = 5  # names or filters; the others are counted
MAX_VALUE_CHARS = 60

_COMPARISONS: Mapping[str, Message] = {
    "$eq": Message("{field} is “{value}”"),
    "$ne": Message("{field} is not “{value}”"),
    "$gt": Message("{field} is more than “{value}”"),
    "$gte": Message("{field} is at least “{value}”"),
    "$lt": Message("{field} is less than “{value}”"),
    "$lte": Message("{field} is at most “{value}”"),
}


def isolate(text: str) -> str:
    """Isolate a name in a sentence, so that it cannot change the direction of the text around it."""
    bare = "".join(character for character in text if character.isprintable() or character == " ")
    cut = bare if len(bare) <= MAX_VALUE_CHARS else bare[:MAX_VALUE_CHARS] + "…"
    return f"\u2068{cut}\u2069"


def join_list(texts: Sequence[str], language: Language, style: Literal["standard", "or"] = "standard") -> str:
    """Join texts as the language does: “a, b and c”."""
    return format_list(texts, style, locale=language.value)


def list_names(names: Sequence[str], language: Language, style: Literal["standard", "or"] = "standard") -> str:
    """Join the first names that users wrote, and count the others: “a, b, c, d, e and 2 others”."""
    listed = [isolate(name) for name in names[:MAX_LISTED]]
    if len(names) > MAX_LISTED:
        listed.append(_others(len(names) - MAX_LISTED, language))
    return join_list(listed, language, style)


def describe_submissions(filters: Sequence[Mapping[str, Any]], language: Language) -> str:
    """Return which submissions match one of the filters, as the object of a verb."""
    if any(not each for each in filters):
        return translate(Message("submissions"), language)
    names = [_submitters(each) for each in filters]
    if all(names):
        people = list(dict.fromkeys(name for each in names for name in each))
        return translate(Message("only submissions from {names}", names=list_names(people, language)), language)
    conditions = [_describe_filter(each, language) for each in filters[:MAX_LISTED]]
    if len(filters) > MAX_LISTED:
        conditions.append(_others(len(filters) - MAX_LISTED, language))
    joined = join_list(conditions, language, "or")
    return translate(Message("only submissions where {conditions}", conditions=joined), language)


def _submitters(filter_: Mapping[str, Any]) -> list[str]:
    """Return the users that a filter is for, or nothing if it has other conditions."""
    return _names(filter_[SUBMITTED_BY]) if filter_.keys() == {SUBMITTED_BY} else []


def _names(value: Any) -> list[str]:
    if isinstance(value, Mapping) and value.keys() == {"$in"}:
        value = value["$in"]
    names = value if isinstance(value, list) else [value]
    return list(names) if all(isinstance(each, str) for each in names) else []


def _describe_filter(filter_: Mapping[str, Any], language: Language) -> str:
    pairs = list(filter_.items())
    parts = [_describe_condition(field, value, language) for field, value in pairs[:MAX_LISTED]]
    if len(pairs) > MAX_LISTED:
        parts.append(_others(len(pairs) - MAX_LISTED, language))
    return join_list(parts, language)


def _describe_condition(field: str, value: Any, language: Language) -> str:
    if field == SUBMITTED_BY and (names := _names(value)):
        return translate(Message("they were sent by {names}", names=list_names(names, language)), language)
    if field.startswith("$"):
        return _as_query({field: value}, language)
    operator, operand = _comparison(value)
    name = isolate(field)
    if operator in _COMPARISONS and not isinstance(operand, dict | list):
        return translate(Message(_COMPARISONS[operator].text, field=name, value=_show(operand)), language)
    if operator == "$in" and isinstance(operand, list) and not any(isinstance(each, dict | list) for each in operand):
        values = list_names([str(_text(each)) for each in operand], language, "or")
        return translate(Message("{field} is {values}", field=name, values=values), language)
    if operator == "$exists" and isinstance(operand, bool):
        text = Message("{field} is answered", field=name) if operand else Message("{field} is not answered", field=name)
        return translate(text, language)
    return _as_query({field: value}, language)


def _comparison(value: Any) -> tuple[str, Any]:
    if isinstance(value, Mapping) and len(value) == 1:
        [(operator, operand)] = value.items()
        return operator, operand
    return ("$eq", value) if not isinstance(value, Mapping) else ("", value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _show(value: Any) -> str:
    return isolate(_text(value))


def _as_query(query: Mapping[str, Any], language: Language) -> str:
    return translate(Message("they match {query}", query=_show(query)), language)


def _others(count: int, language: Language) -> str:
    return translate(PluralMessage("{count} other", "{count} others", count), language)
