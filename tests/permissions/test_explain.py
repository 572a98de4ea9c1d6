"""Explanations agree with the rules, name every rule that matches, and propose what is enough."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.http.links import Link, encode
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import RuleViolation
from fieldgate.permissions.explain import (
    GRANTING_RULES,
    Explanation,
    MatchedRule,
    Need,
    Rule,
    explain,
)
from fieldgate.permissions.rules import PermissionState
from fieldgate.permissions.schemas import MatchedRecord
from fieldgate.permissions.serializers import explanation_record
from fieldgate.permissions.submission_filters import ANY_SUBMISSIONS
from tests.permissions.permission_strategies import ASSIGNABLE, INVALID_CODENAMES, reachable_states
from tests.permissions.test_catalogue import TABLE

AMINAS = {"_submitted_by": "amina"}
SEEING = frozenset({"view_asset"})
Situation = tuple[PermissionState, str]


@given(
    reachable_states()
    | st.tuples(st.just(PermissionState(is_owner=True)), st.sampled_from(sorted(ASSIGNABLE)))
)
def test_explanations_agree_with_what_is_enforced(situation: Situation) -> None:
    standing, asset_type = situation
    effective = rules.effective_permissions(standing, asset_type)
    for codename in (*TABLE, *INVALID_CODENAMES):
        told = explain(standing, codename, asset_type)
        assert told.allowed == (codename in effective)
        _check(told)
        superuser = explain(standing, codename, asset_type, is_superuser=True)
        assert superuser.allowed == (codename in ASSIGNABLE[asset_type] - {PARTIAL})
        _check(superuser)
        disabled = explain(standing, codename, asset_type, is_disabled=True)
        assert not disabled.allowed
        assert disabled.matched[0].rule is Rule.ACCOUNT_DISABLED
        assert [
            each.rule
            for each in disabled.matched[1:] or told.matched
            if each.rule is not Rule.NOTHING
        ] == [each.rule for each in told.matched if each.rule is not Rule.NOTHING]


def _check(told: Explanation) -> None:
    assert [each.decided for each in told.matched] == [True] + [False] * (len(told.matched) - 1)
    assert told.allowed == (told.matched[0].rule in GRANTING_RULES)
    assert not (told.allowed and told.needs)
    for language in Language:
        for sentence in (
            *(each.message() for each in told.matched),
            *(each.message() for each in told.needs),
        ):
            assert translate(sentence, language)
    record = explanation_record(
        told, user=Link("/u/"), asset=Link("/a/"), asset_type=SURVEY, language=Language.ENGLISH
    )
    assert (
        msgspec.json.decode(encode(record).replace(b"\x01", b"").replace(b"\x02", b""))["allowed"]
        is told.allowed
    )


@given(reachable_states())
def test_needs_are_exactly_what_would_suffice(situation: Situation) -> None:
    standing, asset_type = situation
    for codename in TABLE:
        told = explain(standing, codename, asset_type)
        needed = {need.permission: need for need in told.needs}
        for each in TABLE:
            try:
                outcome = rules.assign(standing, each, asset_type, ANY_SUBMISSIONS)
            except RuleViolation:
                assert each not in needed
                continue
            helps = codename in rules.effective_permissions(outcome.state, asset_type)
            assert (each in needed) == (helps and not told.allowed)
            if each in needed:
                assert set(needed[each].removes) == (
                    rules.own_permissions(standing, asset_type)
                    - rules.own_permissions(outcome.state, asset_type)
                )


SURVEY = "survey"
PARTLY = PermissionState(
    granted=frozenset({PARTIAL, "view_asset"}),
    filters={"view_submissions": (AMINAS,), "delete_submissions": (AMINAS,)},
)
FROM_ABOVE = frozenset({"view_asset", "change_asset"})


@pytest.mark.parametrize(
    ("standing", "codename", "matched"),
    [
        (PermissionState(is_owner=True), "manage_asset", ["owner"]),
        (PermissionState(is_owner=True), PARTIAL, ["unrestricted"]),
        (PermissionState(granted=SEEING), "view_asset", ["assigned"]),
        (
            PermissionState(granted=rules.with_implied(["change_submissions"], SURVEY)),
            "view_asset",
            ["assigned"],
        ),
        (PermissionState(collection=FROM_ABOVE), "view_asset", ["collection"]),
        (
            PermissionState(granted=SEEING, collection=SEEING, public=SEEING),
            "view_asset",
            ["assigned", "collection", "public"],
        ),
        (
            PermissionState(collection=FROM_ABOVE, denied=FROM_ABOVE, public=SEEING),
            "view_asset",
            ["public", "denied"],
        ),
        (PermissionState(collection=FROM_ABOVE, denied=FROM_ABOVE), "change_asset", ["denied"]),
        (PARTLY, "view_submissions", ["partial"]),
        (
            msgspec.structs.replace(PARTLY, public=frozenset({"view_asset", "view_submissions"})),
            "view_submissions",
            ["public", "partial"],
        ),
        (PermissionState(is_public=True), "change_asset", ["not_for_public"]),
        (PermissionState(), "discover_asset", ["not_for_type"]),
        (PermissionState(), "view_asset", ["nothing"]),
    ],
)
def test_every_rule(standing: PermissionState, codename: str, matched: list[str]) -> None:
    assert [each.rule.value for each in explain(standing, codename, SURVEY).matched] == matched


def test_needs_start_with_the_narrowest() -> None:
    told = explain(PARTLY, "view_submissions", SURVEY)
    assert told.needs == (
        Need("view_submissions", (PARTIAL,)),
        Need("delete_submissions", (PARTIAL,)),
        Need("validate_submissions", (PARTIAL,)),
        Need("change_submissions", (PARTIAL,)),
        Need("manage_asset", (PARTIAL,)),
    )
    assert (
        str(told.needs[0].message())
        == "Assign view_submissions: this would remove partial_submissions."
    )
    told = explain(PermissionState(is_public=True), "view_asset", SURVEY)
    assert told.needs == (Need("view_asset"), Need("view_submissions")), (
        "and nothing the public cannot hold"
    )
    assert str(told.needs[0].message()) == "Assign view_asset: nothing would be removed."


def test_record_schema_has_every_rule() -> None:
    described = msgspec.json.schema(MatchedRecord, schema_hook=lambda _: {"type": "string"})[
        "$defs"
    ]["MatchedRecord"]
    assert set(described["properties"]["rule"]["enum"]) == {rule.value for rule in Rule}
    assert len({str(MatchedRule(rule, "view_asset").message()) for rule in Rule}) == len(Rule)
