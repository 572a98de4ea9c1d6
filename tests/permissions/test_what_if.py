"""`/api/v2/permissions/effects/`: what assigning and removing several permissions at once would do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.permissions import rules, what_if
from fieldgate.permissions.catalogue import BY_CODENAME
from fieldgate.permissions.effects import EffectKind
from fieldgate.permissions.submission_filters import ANY_SUBMISSIONS
from tests.conftest import BASE_URL, Service
from tests.permissions.permission_strategies import ASSIGNABLE, has_contradiction, with_implied
from tests.permissions.test_catalogue import TABLE

URL = f"{BASE_URL}/api/v2/permissions"
sets = st.frozensets(st.sampled_from(sorted(TABLE)), max_size=4)


def bare(links: list[str]) -> list[str]:
    return [link.removeprefix(f"{URL}/").removesuffix("/") for link in links]


async def what_if_record(service: Service, query: str) -> dict[str, Any]:
    answer = await service.get(f"/api/v2/permissions/effects/?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def test_effects_of_assigning_and_removing(service: Service) -> None:
    record = await what_if_record(
        service, "held=change_asset&assign=view_submissions&remove=change_asset"
    )
    assert bare(record["held"]) == ["change_asset", "view_asset"]
    assert (bare(record["assigned"]), bare(record["removed"])) == (
        ["view_submissions"],
        ["change_asset"],
    )
    assert bare(record["result"]) == ["view_asset", "view_submissions"]
    assert [(each["label"], each["effect"], each["why"]) for each in record["effects"]] == [
        ("Edit form", "removed", "chosen"),
        ("View submissions", "granted", "chosen"),
    ]


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("held=nothing", "held", "There is no permission nothing."),
        (
            "assign=discover_asset",
            "assign",
            "discover_asset cannot be assigned on an asset of this type.",
        ),
        (
            "assign=view_submissions,partial_submissions",
            "assign",
            "partial_submissions and view_submissions contradict each other: assign one of them.",
        ),
        (
            "held=view_asset&assign=change_asset&remove=view_asset",
            "remove",
            "view_asset cannot be removed: change_asset needs it.",
        ),
        (
            "assign=view_asset&remove=view_asset",
            "remove",
            "view_asset cannot be removed: view_asset needs it.",
        ),
        ("assign=" + ",".join(["view_asset"] * 21), "assign", "Name at most 20 permissions."),
    ],
)
async def test_refused(service: Service, query: str, field: str, message: str) -> None:
    answer = await service.get(f"/api/v2/permissions/effects/?{query}")
    assert (answer.status_code, answer.json()) == (400, {field: [message]})


@given(st.sampled_from(sorted(ASSIGNABLE)), sets, sets, sets)
def test_result_follows_from_the_effects(
    asset_type: str, held: frozenset[str], assigned: frozenset[str], removed: frozenset[str]
) -> None:
    held, assigned = held & ASSIGNABLE[asset_type], assigned & ASSIGNABLE[asset_type]
    before, asked = with_implied(held, asset_type), with_implied(assigned, asset_type)
    refused = (
        what_if.name_errors(held, asset_type),
        what_if.name_errors(assigned, asset_type),
        what_if.removal_errors(removed, assigned),
    )
    kept = {each for one in assigned for each in (one, *TABLE[one][1])}
    assert [bool(each) for each in refused] == [
        has_contradiction(before),
        has_contradiction(asked),
        bool(removed & kept),
    ]
    if any(refused):
        return
    outcome = what_if.change(before, assigned=assigned, removed=removed, asset_type=asset_type)
    after = outcome.state.granted
    assert asked <= after
    assert not removed & after
    assert not has_contradiction(after)
    assert with_implied(after, asset_type) == after
    replayed = set(before)
    for effect in outcome.effects:
        if effect.kind is EffectKind.GRANTED:
            replayed.add(effect.permission)
        elif effect.kind is EffectKind.REMOVED:
            replayed.discard(effect.permission)
    assert replayed == after


@given(st.sampled_from(sorted(BY_CODENAME)), sets)
def test_assigning_one_gives_the_same_as_the_rules(codename: str, held: frozenset[str]) -> None:
    if what_if.name_errors([codename], "survey") or what_if.name_errors(held, "survey"):
        return
    before = rules.with_implied(held, "survey")
    outcome = what_if.change(before, assigned=[codename], removed=(), asset_type="survey")
    state = rules.PermissionState(
        granted=before, filters=ANY_SUBMISSIONS if "partial_submissions" in before else {}
    )
    assert outcome == rules.assign(state, codename, "survey", ANY_SUBMISSIONS)
