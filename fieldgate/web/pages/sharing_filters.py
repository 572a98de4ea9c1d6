"""The part of the sharing form that says for which submissions a permission is. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.errors import BadRequest
from fieldgate.http.request.body_parsing import decode_json
from fieldgate.i18n.messages import Message
from fieldgate.permissions.sentences import SUBMITTED_BY
from fieldgate.permissions.submission_filters import PARTIALLY_GRANTABLE, Filters
from fieldgate.web.page_views import FormState, SubmittedForm

DEFAULT_ACTION = "view_submissions"


class FilterFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the form, as text."""

    actions: tuple[str, ...] = (DEFAULT_ACTION,)
    people: str = ""  # usernames, separated by commas
    question: str = ""
    answer: str = ""
    query: str = ""  # JSON, for what the other fields cannot say


def read_fields(form: FormState | SubmittedForm) -> FilterFields:
    return FilterFields(
        actions=tuple(form.get_all("partial_actions")),
        people=form.get("partial_people"),
        question=form.get("partial_question"),
        answer=form.get("partial_answer"),
        query=form.get("partial_query"),
    )


def to_partial_permissions(fields: FilterFields) -> list[dict[str, Any]] | Message:
    """Return `partial_permissions` for the API, or what is wrong with the fields."""
    if fields.query:
        return _parse_query(fields)
    filter_: dict[str, Any] = {}
    if names := [
        name for each in fields.people.replace("،", ",").split(",") if (name := each.strip())
    ]:
        filter_[SUBMITTED_BY] = names[0] if len(names) == 1 else {"$in": names}
    if fields.question and fields.answer:
        filter_[fields.question] = fields.answer
    elif fields.question or fields.answer:
        return Message("Enter both the question and the answer.")
    if not filter_:
        return Message("Say which submissions: name people, or a question and an answer.")
    return _for_actions(fields.actions, [filter_])


def _parse_query(fields: FilterFields) -> list[dict[str, Any]] | Message:
    try:
        query = decode_json(fields.query)
    except BadRequest:
        return Message("The query must be a JSON object.")
    if isinstance(query, dict) and query and query.keys() <= set(PARTIALLY_GRANTABLE):
        return [{"url": codename, "filters": filters} for codename, filters in query.items()]
    if isinstance(query, dict | list):
        return _for_actions(fields.actions, query if isinstance(query, list) else [query])
    return Message("The query must be a JSON object.")


def _for_actions(actions: Sequence[str], filters: list[Any]) -> list[dict[str, Any]] | Message:
    if not actions:
        return Message("Choose what is allowed with these submissions.")
    return [{"url": codename, "filters": filters} for codename in actions]


def from_filters(filters: Filters) -> FilterFields:
    """Return the fields that stand for filters: simple ones as people, question and answer, others as a query."""
    if not filters:
        return FilterFields()
    actions = tuple(each for each in PARTIALLY_GRANTABLE if each in filters)
    first = filters[actions[0]]
    is_same = all(filters[each] == first for each in actions)
    simple = _simple_fields(first[0]) if is_same and len(first) == 1 else None
    if simple is None:
        return FilterFields(actions=actions, query=msgspec.json.encode(filters).decode())
    return FilterFields(actions=actions, **simple)


def _simple_fields(filter_: Mapping[str, Any]) -> dict[str, str] | None:
    others = {name: value for name, value in filter_.items() if name != SUBMITTED_BY}
    names = _names(filter_[SUBMITTED_BY]) if SUBMITTED_BY in filter_ else []
    if not filter_ or names is None or len(others) > 1 or not all(map(_is_plain_name, names)):
        return None
    if not all(_is_plain_answer(*pair) for pair in others.items()):
        return None
    question, answer = next(iter(others.items()), ("", ""))
    return {"people": ", ".join(names), "question": question, "answer": answer}


def _names(submitted_by: Any) -> list[Any] | None:
    """The people that a condition names. None: it means something else, such as an empty list nobody's submissions."""
    match submitted_by:
        case str(name):
            return [name]
        case {"$in": [_, *_] as names} if len(submitted_by) == 1:
            return list(names)
    return None


def _is_plain_name(name: Any) -> bool:
    return _is_typed(name) and "," not in name and "،" not in name


def _is_plain_answer(question: str, answer: Any) -> bool:
    return not question.startswith("$") and _is_typed(question) and _is_typed(answer)


def _is_typed(text: Any) -> bool:
    """Whether a text field of a form keeps this as it is."""
    return isinstance(text, str) and text == text.strip() != "" and text.isprintable()
