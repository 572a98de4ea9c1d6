"""Effects and explanations as records, in the language of whoever asks."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from fieldgate.http.response.links import Link, encode
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import path_of
from fieldgate.permissions.explain import Explanation
from fieldgate.permissions.rules import PARTIAL, PARTIALLY, WHICHEVER, Codenames, Effect, Filters, Standing
from fieldgate.permissions.schemas import (
    EffectRecord,
    EffectsRecord,
    ExplanationRecord,
    MatchedRecord,
    NeedRecord,
    PartialRecord,
)


def links(codenames: Iterable[str]) -> list[Link]:
    return [Link(path_of(codename)) for codename in codenames]


def effect_fields(effect: Effect, language: Language) -> dict[str, Any]:
    """What every record of an effect has."""
    return {
        "permission": Link(path_of(effect.permission)),
        "effect": effect.what.value,
        "reason": effect.why.value,
        "because": Link(path_of(effect.because)) if effect.because else None,
        "message": translate(effect.told(), language),
    }


def partial_records(filters: Filters) -> list[PartialRecord]:
    """Which submissions, in the order in which it is told."""
    return [
        PartialRecord(url=Link(path_of(codename)), filters=[dict(each) for each in filters[codename]])
        for codename in PARTIALLY
        if codename in filters
    ]


@lru_cache(maxsize=4096)  # there are not that many sets that can be held
def effects_record(codename: str, held: Codenames, asset_type: str, language: Language) -> msgspec.Raw:
    """What assigning a permission would do to who holds these, encoded. `held` is closed."""
    before = Standing(granted=held, filters=WHICHEVER if PARTIAL in held else {})
    outcome = rules.assign(before, codename, asset_type, WHICHEVER)
    record = EffectsRecord(
        permission=Link(path_of(codename)),
        asset_type=asset_type,
        held=links(sorted(held)),
        effects=[EffectRecord(**effect_fields(effect, language)) for effect in outcome.effects],
        result=links(sorted(outcome.standing.granted)),
    )
    return msgspec.Raw(encode(record))


def explanation_record(explanation: Explanation, *, user: Link, asset: Link, language: Language) -> ExplanationRecord:
    return ExplanationRecord(
        user=user,
        permission=Link(path_of(explanation.permission)),
        asset=asset,
        allowed=explanation.allowed,
        rules=[
            MatchedRecord(
                rule=each.rule.value,
                message=translate(each.told(), language),
                decided=each.decided,
                because=links(each.because),
            )
            for each in explanation.matched
        ],
        partial_permissions=partial_records(explanation.filters) or msgspec.UNSET,
        needs=[
            NeedRecord(
                permission=Link(path_of(each.permission)),
                removes=links(each.removes),
                message=translate(each.told(), language),
            )
            for each in explanation.needs
        ],
    )
