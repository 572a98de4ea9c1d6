"""Records of permissions, effects and explanations, in the language of the caller."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import msgspec

from fieldgate.http.links import Link, encode
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.permissions import rules, what_if
from fieldgate.permissions.catalogue import (
    PARTIAL,
    PERMISSIONS,
    Permission,
    implied,
    permission_path,
)
from fieldgate.permissions.effects import Effect
from fieldgate.permissions.explain import Explanation, MatchedRule, Need, Rule
from fieldgate.permissions.labels import short_label
from fieldgate.permissions.rules import Codenames, PermissionState
from fieldgate.permissions.schemas import (
    EffectRecord,
    EffectsRecord,
    ExplanationRecord,
    MatchedRecord,
    NeedRecord,
    PartialRecord,
    PermissionRecord,
    TeamReference,
    WhatIfRecord,
)
from fieldgate.permissions.sentences import effect_reason, need_sentence, rule_sentence
from fieldgate.permissions.submission_filters import ANY_SUBMISSIONS, PARTIALLY_GRANTABLE, Filters


def permission_links(codenames: Iterable[str]) -> list[Link]:
    return [Link(permission_path(codename)) for codename in codenames]


@cache
def encoded_permissions(language: Language) -> Mapping[str, msgspec.Raw]:
    """Return the records of all permissions by codename, ordered by it."""
    return {
        permission.codename: msgspec.Raw(encode(_to_record(permission, language)))
        for permission in sorted(PERMISSIONS, key=lambda each: each.codename)
    }


def _to_record(permission: Permission, language: Language) -> PermissionRecord:
    return PermissionRecord(
        url=Link(permission_path(permission.codename)),
        codename=permission.codename,
        implied=permission_links(sorted(implied(permission.codename))),
        contradictory=permission_links(permission.contradicts),
        name=translate(permission.name, language),
    )


@cache
def effect_fields(effect: Effect, asset_type: str, language: Language) -> Mapping[str, Any]:
    """Return the fields that all records of effects share. One response can have ten thousand of them."""
    return {
        "permission": Link(permission_path(effect.permission)),
        "effect": effect.kind.value,
        "reason": effect.reason.value,
        "because": Link(permission_path(effect.because)) if effect.because else None,
        "message": translate(effect.message(), language),
        "label": short_label(effect.permission, asset_type, language),
        "why": effect_reason(effect, asset_type, language),
    }


def partial_records(filters: Filters) -> list[PartialRecord]:
    """Return the filters of each permission, in the order of `PARTIALLY_GRANTABLE`."""
    return [
        PartialRecord(
            url=Link(permission_path(codename)), filters=[dict(each) for each in filters[codename]]
        )
        for codename in PARTIALLY_GRANTABLE
        if codename in filters
    ]


@lru_cache(maxsize=4096)  # more than there are possible sets of permissions
def effects_record(
    codename: str, held: Codenames, asset_type: str, language: Language
) -> msgspec.Raw:
    """Return the encoded effects of assigning a permission to a holder of `held`, which includes implied ones."""
    before = PermissionState(granted=held, filters=ANY_SUBMISSIONS if PARTIAL in held else {})
    outcome = rules.assign(before, codename, asset_type, ANY_SUBMISSIONS)
    record = EffectsRecord(
        permission=Link(permission_path(codename)),
        asset_type=asset_type,
        held=permission_links(sorted(held)),
        effects=[
            EffectRecord(**effect_fields(effect, asset_type, language))
            for effect in outcome.effects
        ],
        result=permission_links(sorted(outcome.state.granted)),
    )
    return msgspec.Raw(encode(record))


@lru_cache(maxsize=4096)
def what_if_record(
    held: Codenames, assigned: Codenames, removed: Codenames, asset_type: str, language: Language
) -> msgspec.Raw:
    """Return the encoded effects of removing and assigning permissions of a holder of `held`."""
    outcome = what_if.change(held, assigned=assigned, removed=removed, asset_type=asset_type)
    record = WhatIfRecord(
        asset_type=asset_type,
        held=permission_links(sorted(held)),
        assigned=permission_links(sorted(assigned)),
        removed=permission_links(sorted(removed)),
        effects=[
            EffectRecord(**effect_fields(effect, asset_type, language))
            for effect in outcome.effects
        ],
        result=permission_links(sorted(outcome.state.granted)),
    )
    return msgspec.Raw(encode(record))


def explanation_record(
    explanation: Explanation,
    *,
    user: Link,
    asset: Link,
    asset_type: str,
    via: Sequence[TeamReference] = (),
    language: Language,
) -> ExplanationRecord:
    """`via` are the teams through which the user has it."""
    return ExplanationRecord(
        user=user,
        permission=Link(permission_path(explanation.permission)),
        label=short_label(explanation.permission, asset_type, language),
        asset=asset,
        allowed=explanation.allowed,
        rules=[
            _matched_record(each, asset_type, tuple(via), language) for each in explanation.matched
        ],
        partial_permissions=partial_records(explanation.filters) or msgspec.UNSET,
        needs=[_need_record(each, asset_type, language) for each in explanation.needs],
    )


@lru_cache(maxsize=1024)
def _matched_record(
    matched: MatchedRule, asset_type: str, via: tuple[TeamReference, ...], language: Language
) -> MatchedRecord:
    return MatchedRecord(
        rule=matched.rule.value,
        message=translate(matched.message(), language),
        decided=matched.decided,
        because=permission_links(matched.because),
        why=rule_sentence(matched, asset_type, language),
        expires_at=matched.expires_at or msgspec.UNSET,
        via=list(via) if matched.rule is Rule.TEAM else msgspec.UNSET,
    )


@lru_cache(maxsize=1024)
def _need_record(need: Need, asset_type: str, language: Language) -> NeedRecord:
    return NeedRecord(
        permission=Link(permission_path(need.permission)),
        removes=permission_links(need.removes),
        message=translate(need.message(), language),
        why=need_sentence(need, asset_type, language),
    )
