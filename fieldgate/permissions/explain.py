"""Explain why a user has a permission on an asset or not, and what could be assigned.

explanation = explain(state, "change_submissions", "survey")
explanation.allowed    # the same as in `rules.effective_permissions`
explanation.matched    # every rule that matched; the first one decided
explanation.needs      # what could be assigned, if that would help
"""

from datetime import datetime
from enum import Enum

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL, implied
from fieldgate.permissions.effects import EffectKind, not_for_public_message, not_for_type_message
from fieldgate.permissions.rules import PUBLIC_ASSIGNABLE, PermissionState
from fieldgate.permissions.submission_filters import ANY_SUBMISSIONS, Filters


class Rule(Enum):
    """The rules, in order of precedence: of those that match, the first decides."""

    ACCOUNT_DISABLED = "account_disabled"
    NOT_FOR_TYPE = "not_for_type"
    UNRESTRICTED = (
        "unrestricted"  # who may act on all submissions has no partial_submissions from teams
    )
    OWNER = "owner"
    SUPERUSER = "superuser"
    ASSIGNED = "assigned"  # and perhaps implied by `because`, which is assigned too
    COLLECTION = "collection"  # inherited from the collection
    TEAM = "team"  # through a team
    PUBLIC = "public"
    DENIED = "denied"
    PARTIAL = "partial"  # for some submissions only
    LIMITED = "limited"  # partial_submissions is assigned, and wins over what teams pass on
    NOT_FOR_PUBLIC = "not_for_public"
    NOTHING = "nothing"


GRANTING_RULES = frozenset(
    {Rule.OWNER, Rule.SUPERUSER, Rule.ASSIGNED, Rule.COLLECTION, Rule.TEAM, Rule.PUBLIC}
)
# If one of these decided, no assignment changes anything; UNRESTRICTED only for owners and superusers.
FINAL_RULES = frozenset(
    {Rule.ACCOUNT_DISABLED, Rule.NOT_FOR_TYPE, Rule.UNRESTRICTED, Rule.NOT_FOR_PUBLIC}
)

_RULE_MESSAGES = {
    Rule.ACCOUNT_DISABLED: Message("The account is disabled: its permissions cannot be used."),
    Rule.UNRESTRICTED: Message(
        "Who may act on all submissions, as owners and superusers do, is not limited to some of them."
    ),
    Rule.OWNER: Message("The owner of the asset always has {permission}."),
    Rule.SUPERUSER: Message("Superusers have {permission} on every asset."),
    Rule.ASSIGNED: Message("{permission} is assigned on this asset."),
    Rule.COLLECTION: Message("{permission} is passed down by the collection of the asset."),
    Rule.PUBLIC: Message("{permission} is held by the public, and so by everybody."),
    Rule.TEAM: Message("{permission} is held through a team."),
    Rule.DENIED: Message(
        "{permission} is denied on this asset, though its collection or a team would pass it on."
    ),
    Rule.PARTIAL: Message("{permission} is held for some submissions only."),
    Rule.LIMITED: Message(
        "partial_submissions is assigned on this asset, and wins over {permission} of a team."
    ),
    Rule.NOTHING: Message("Nothing grants {permission} on this asset."),
}


class MatchedRule(msgspec.Struct, frozen=True):
    rule: Rule
    permission: str
    because: tuple[str, ...] = ()
    decided: bool = False
    expires_at: datetime | None = None  # when what it is about ends

    def message(self) -> Message:
        if self.rule is Rule.NOT_FOR_TYPE:
            return not_for_type_message(self.permission)
        if self.rule is Rule.NOT_FOR_PUBLIC:
            return not_for_public_message(self.permission)
        if self.rule is Rule.ASSIGNED and self.because:
            return Message(
                "{permission} is assigned on this asset, and implied by: {because}.",
                permission=self.permission,
                because=", ".join(self.because),
            )
        return Message(_RULE_MESSAGES[self.rule].text, permission=self.permission)


class Need(msgspec.Struct, frozen=True):
    """A permission that could be assigned, and what that would remove."""

    permission: str
    removes: tuple[str, ...] = ()

    def message(self) -> Message:
        if not self.removes:
            return Message(
                "Assign {permission}: nothing would be removed.", permission=self.permission
            )
        return Message(
            "Assign {permission}: this would remove {removed}.",
            permission=self.permission,
            removed=", ".join(self.removes),
        )


class Explanation(msgspec.Struct, frozen=True):
    permission: str
    allowed: bool
    matched: tuple[MatchedRule, ...]  # the first decided
    filters: Filters  # if it is held for some submissions only
    needs: tuple[Need, ...]


def explain(
    state: PermissionState,
    permission: str,
    asset_type: str,
    *,
    is_superuser: bool = False,
    is_disabled: bool = False,
) -> Explanation:
    """Explain whether a user has a permission, with every rule that matches."""
    owned = rules.owner_permissions(asset_type)
    passed = rules.passed_on(state, asset_type)
    denied = rules.with_dependent(state.denied, asset_type)
    filters = rules.own_filters(state, asset_type)
    held = passed | state.granted
    is_unlimited = state.is_owner or is_superuser
    is_surpassed = PARTIAL in state.teams - denied - held
    matching = [
        rule
        for rule, matches in (
            (Rule.ACCOUNT_DISABLED, is_disabled),
            (Rule.NOT_FOR_TYPE, permission not in rules.assignable(asset_type)),
            (Rule.UNRESTRICTED, permission == PARTIAL and (is_unlimited or is_surpassed)),
            (Rule.OWNER, state.is_owner and permission in owned),
            (Rule.SUPERUSER, is_superuser and permission in owned),
            (Rule.ASSIGNED, permission in state.granted),
            (Rule.COLLECTION, permission in state.collection & passed),
            (Rule.TEAM, permission in state.teams & passed),
            (Rule.PUBLIC, permission in state.public),
            (Rule.DENIED, permission in (state.collection | state.teams) & denied),
            (Rule.PARTIAL, permission in filters),
            (Rule.LIMITED, PARTIAL in state.granted and permission in state.teams - held - denied),
            (Rule.NOT_FOR_PUBLIC, state.is_public and permission not in PUBLIC_ASSIGNABLE),
        )
        if matches
    ]
    first, *others = matching or [Rule.NOTHING]
    allowed = first in GRANTING_RULES
    is_final = first in FINAL_RULES and (first is not Rule.UNRESTRICTED or is_unlimited)
    return Explanation(
        permission=permission,
        allowed=allowed,
        matched=(
            MatchedRule(
                first,
                permission,
                _because(first, state, permission),
                True,
                _end(first, state, permission),
            ),
            *(
                MatchedRule(
                    rule,
                    permission,
                    _because(rule, state, permission),
                    False,
                    _end(rule, state, permission),
                )
                for rule in others
            ),
        ),
        filters=filters
        if permission == PARTIAL
        else {each: filters[each] for each in filters if each == permission},
        needs=() if allowed or is_final else _needs(state, permission, asset_type),
    )


def _because(rule: Rule, state: PermissionState, permission: str) -> tuple[str, ...]:
    if rule is Rule.PARTIAL:
        return (PARTIAL,)
    if rule is Rule.ASSIGNED:
        sources = state.granted
    elif rule is Rule.COLLECTION:
        sources = state.collection - state.denied
    elif rule is Rule.TEAM:
        sources = state.teams - state.denied
    else:
        return ()
    return tuple(sorted([each for each in sources if permission in implied(each)]))


def _end(rule: Rule, state: PermissionState, permission: str) -> datetime | None:
    if rule is Rule.PARTIAL:
        return (state.ends if PARTIAL in state.granted else state.team_ends).get(PARTIAL)
    by_rule = {
        Rule.ASSIGNED: state.ends,
        Rule.COLLECTION: state.collection_ends,
        Rule.TEAM: state.team_ends,
        Rule.PUBLIC: state.public_ends,
    }
    return by_rule.get(rule, {}).get(permission)


def _needs(state: PermissionState, permission: str, asset_type: str) -> tuple[Need, ...]:
    """Return what would be enough to assign, the narrowest first."""
    found = []
    assignable = rules.assignable(asset_type, to_public=state.is_public)
    for each in sorted(assignable, key=lambda each: (len(implied(each)), each)):
        outcome = rules.assign(state, each, asset_type, ANY_SUBMISSIONS)
        if permission in rules.effective_permissions(outcome.state, asset_type):
            removed = (
                effect.permission for effect in outcome.effects if effect.kind is EffectKind.REMOVED
            )
            found.append(Need(each, tuple(removed)))
    return tuple(found)
