"""Permissions in words, with labels in place of codenames.

access_sentence({"change_asset", "view_asset"}, {}, "survey", Language.ENGLISH)  # "Can edit the form"
effect_reason(effect, "survey", Language.ENGLISH)  # "needed by “Edit form”"
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import msgspec
from babel.lists import format_list

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.permissions.catalogue import PARTIAL, implied
from fieldgate.permissions.effects import Effect, EffectKind, EffectReason
from fieldgate.permissions.explain import MatchedRule, Need, Rule
from fieldgate.permissions.labels import quoted_label, short_label
from fieldgate.permissions.submission_filters import PARTIALLY_GRANTABLE, Filters, filters_equal

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


def join_list(
    texts: Sequence[str], language: Language, style: Literal["standard", "or"] = "standard"
) -> str:
    """Join texts as the language does: “a, b and c”."""
    return format_list(texts, style, locale=language.value)


def list_names(
    names: Sequence[str], language: Language, style: Literal["standard", "or"] = "standard"
) -> str:
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
        return translate(
            Message("only submissions from {names}", names=list_names(people, language)), language
        )
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
        return translate(
            Message("they were sent by {names}", names=list_names(names, language)), language
        )
    if field.startswith("$"):
        return _as_query({field: value}, language)
    operator, operand = _comparison(value)
    name = isolate(field)
    if operator in _COMPARISONS and not isinstance(operand, dict | list):
        return translate(
            Message(_COMPARISONS[operator].text, field=name, value=_show(operand)), language
        )
    if (
        operator == "$in"
        and isinstance(operand, list)
        and not any(isinstance(each, dict | list) for each in operand)
    ):
        values = list_names([str(_text(each)) for each in operand], language, "or")
        return translate(Message("{field} is {values}", field=name, values=values), language)
    if operator == "$exists" and isinstance(operand, bool):
        text = (
            Message("{field} is answered", field=name)
            if operand
            else Message("{field} is not answered", field=name)
        )
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


# What somebody can do, after “Can”. One message per asset type, as in `labels`.
_ON_ASSETS: Mapping[str, Mapping[str, Message]] = {
    "view_asset": {
        "survey": Message("view the form"),
        "template": Message("view the template"),
        "block": Message("view the block"),
        "question": Message("view the question"),
        "empty": Message("view the empty asset"),
        "collection": Message("view the collection"),
    },
    "change_asset": {
        "survey": Message("edit the form"),
        "template": Message("edit the template"),
        "block": Message("edit the block"),
        "question": Message("edit the question"),
        "empty": Message("edit the empty asset"),
        "collection": Message("edit the collection"),
    },
    "discover_asset": {"collection": Message("find the collection in public lists")},
}
_ON_SUBMISSIONS: Mapping[str, Message] = {
    "add_submissions": Message("add submissions"),
    "view_submissions": Message("see submissions"),
    "change_submissions": Message("edit submissions"),
    "delete_submissions": Message("delete submissions"),
    "validate_submissions": Message("validate submissions"),
}
_ON_SOME_SUBMISSIONS: Mapping[str, Message] = {
    "add_submissions": Message("add {submissions}"),
    "view_submissions": Message("see {submissions}"),
    "change_submissions": Message("edit {submissions}"),
    "delete_submissions": Message("delete {submissions}"),
    "validate_submissions": Message("validate {submissions}"),
}
_ORDER = ("discover_asset", "view_asset", "change_asset", *PARTIALLY_GRANTABLE)


def access_sentence(
    codenames: Collection[str],
    filters: Filters,
    asset_type: str,
    language: Language,
    *,
    is_owner: bool = False,
) -> str:
    """Say what somebody can do with an asset. Permissions that another one implies are left out."""
    if is_owner:
        return translate(Message("Owner: can do everything"), language)
    if "manage_asset" in codenames:
        return translate(Message("Can edit everything and share it with others"), language)
    held = [each for each in _ORDER if each in codenames and not _is_implied(each, codenames)]
    partial = filters if PARTIAL in codenames else {}
    actions = [_action(each, asset_type, language) for each in held if each not in partial]
    for codename in PARTIALLY_GRANTABLE:
        if codename in partial and not _is_covered(codename, partial):
            submissions = describe_submissions(partial[codename], language)
            actions.append(
                translate(
                    Message(_ON_SOME_SUBMISSIONS[codename].text, submissions=submissions), language
                )
            )
    if not actions:
        return translate(Message("Has no access"), language)
    return translate(Message("Can {actions}", actions=join_list(actions, language)), language)


def _is_implied(codename: str, codenames: Collection[str]) -> bool:
    return any(codename in implied(each) for each in codenames)


def _is_covered(codename: str, filters: Filters) -> bool:
    """Whether a stronger permission is given for the same submissions."""
    return any(
        codename in implied(each) and filters_equal({"": filters[each]}, {"": filters[codename]})
        for each in filters
    )


def _action(codename: str, asset_type: str, language: Language) -> str:
    if codename in _ON_SUBMISSIONS:
        return translate(_ON_SUBMISSIONS[codename], language)
    by_type = _ON_ASSETS[codename]
    return translate(by_type.get(asset_type) or next(iter(by_type.values())), language)


# Effects

_EFFECT_REASONS: Mapping[tuple[EffectKind, EffectReason], Message] = {
    (EffectKind.GRANTED, EffectReason.ASKED): Message("chosen"),
    (EffectKind.GRANTED, EffectReason.IMPLIED): Message("needed by “{because}”"),
    (EffectKind.REMOVED, EffectReason.ASKED): Message("chosen"),
    (EffectKind.REMOVED, EffectReason.CONTRADICTED): Message(
        "not possible together with “{because}”"
    ),
    (EffectKind.REMOVED, EffectReason.DEPENDENT): Message("not possible without “{because}”"),
    (EffectKind.REMOVED, EffectReason.NOT_LISTED): Message("not included"),
    (EffectKind.DENIED, EffectReason.ASKED): Message(
        "no longer comes from the collection or a team"
    ),
    (EffectKind.DENIED, EffectReason.DEPENDENT): Message("not possible without “{because}”"),
    (EffectKind.DENIED, EffectReason.NOT_LISTED): Message(
        "no longer comes from the collection or a team"
    ),
    (EffectKind.ALLOWED, EffectReason.ASKED): Message("comes from the collection or a team again"),
    (EffectKind.ALLOWED, EffectReason.IMPLIED): Message("needed by “{because}”"),
    (EffectKind.ALLOWED, EffectReason.DEPENDENT): Message("comes from a team again"),
    (EffectKind.FILTERED, EffectReason.ASKED): Message("for other submissions than before"),
    (EffectKind.FILTERED, EffectReason.DEPENDENT): Message(
        "for fewer submissions, without “{because}”"
    ),
    (EffectKind.ENDS, EffectReason.ASKED): Message("chosen"),
    (EffectKind.ENDS, EffectReason.IMPLIED): Message("needed by “{because}”"),
    (EffectKind.ENDS, EffectReason.DEPENDENT): Message("not possible without “{because}”"),
}


@cache
def effect_reason(effect: Effect, asset_type: str, language: Language) -> str:
    """Say why an effect happens, after the label of its permission."""
    because = short_label(effect.because, asset_type, language) if effect.because else ""
    return translate(
        Message(_EFFECT_REASONS[effect.kind, effect.reason].text, because=because), language
    )


# Explanations

_RULE_SENTENCES: Mapping[Rule, Message] = {
    Rule.ACCOUNT_DISABLED: Message("The account is disabled."),
    Rule.NOT_FOR_TYPE: Message("This is not possible here."),
    Rule.UNRESTRICTED: Message("Not limited to some submissions."),
    Rule.OWNER: Message("The owner can always do this."),
    Rule.SUPERUSER: Message("Superusers can always do this."),
    Rule.ASSIGNED: Message("Given here."),
    Rule.COLLECTION: Message("Comes from the collection."),
    Rule.PUBLIC: Message("Everyone can do this."),
    Rule.TEAM: Message("Comes from a team."),
    Rule.DENIED: Message("Taken away here, although the collection or a team would give it."),
    Rule.LIMITED: Message(
        "Limited here to some submissions, although a team would give it for all."
    ),
    Rule.PARTIAL: Message("Only for some submissions."),
    Rule.NOT_FOR_PUBLIC: Message("This cannot be given to everyone."),
    Rule.NOTHING: Message("Not given."),
}


def rule_sentence(matched: MatchedRule, asset_type: str, language: Language) -> str:
    """Say in words what a rule of an explanation means."""
    if matched.rule is Rule.ASSIGNED and matched.because:
        because = _quote_labels(matched.because, asset_type, language)
        return translate(
            Message("Comes with {because}, which is given here.", because=because), language
        )
    return translate(_RULE_SENTENCES[matched.rule], language)


def need_sentence(need: Need, asset_type: str, language: Language) -> str:
    """Say what to give somebody, and what that takes away."""
    label = short_label(need.permission, asset_type, language)
    if not need.removes:
        return translate(Message("Give “{label}”.", label=label), language)
    removed = _quote_labels(need.removes, asset_type, language)
    return translate(
        Message("Give “{label}”. This takes away {removed}.", label=label, removed=removed),
        language,
    )


def _quote_labels(codenames: Collection[str], asset_type: str, language: Language) -> str:
    return join_list([quoted_label(each, asset_type, language) for each in codenames], language)
