"""Serialize assignments, the effects of changes, and the history, in the caller's language."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, islice
from typing import Any

from msgspec import UNSET, Raw
from sqlalchemy import Row

from fieldgate.accounts.schemas import user_path
from fieldgate.assets.schemas import AssignmentRecord, asset_path, assignment_path, team_path
from fieldgate.assets.sharing.change_log import LoggedEffect
from fieldgate.assets.sharing.grants import (
    AssetGrants,
    Grantee,
    ListedAssignment,
    PermissionChange,
    reject_oversized,
)
from fieldgate.assets.sharing.schemas import ChangeRecord, EffectOnUser, HistoryRecord, ResultRecord
from fieldgate.http.links import Link, encode
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL, permission_path
from fieldgate.permissions.effects import Effect
from fieldgate.permissions.labels import label
from fieldgate.permissions.schemas import TeamReference
from fieldgate.permissions.serializers import effect_fields, partial_records

MAX_EFFECTS = 10_000  # in one response


def encode_assignments(
    grants: AssetGrants, assignments: Iterable[ListedAssignment], language: Language
) -> Raw:
    return Raw(encode(assignment_records(grants, assignments, language)))


def assignment_records(
    grants: AssetGrants, assignments: Iterable[ListedAssignment], language: Language
) -> list[AssignmentRecord]:
    return [assignment_record(grants, assignment, language) for assignment in assignments]


def assignment_record(
    grants: AssetGrants, assignment: ListedAssignment, language: Language
) -> AssignmentRecord:
    user = assignment.user
    # Keys of a team, or of a user.
    holder: dict[str, Any] = (
        {"team": Link(team_path(user.uid)), "team__name": user.team_name or None}
        if user.is_team
        else {"user": Link(user_path(user.username))}
    )
    return AssignmentRecord(
        url=Link(assignment_path(grants.uid, assignment.uid)),
        permission=Link(permission_path(assignment.permission)),
        partial_permissions=partial_records(assignment.filters or {})
        if assignment.permission == PARTIAL
        else UNSET,
        label=label(assignment.permission, grants.asset_type, language),
        inherited=True if assignment.is_inherited else UNSET,
        via=UNSET
        if assignment.team is None
        else team_reference(assignment.team.uid, assignment.team.team_name),
        expires_at=assignment.expires_at or UNSET,
        **holder,
    )


def team_reference(uid: str | None, name: str | None) -> TeamReference:
    """A team. Callers who are not in it do not know its name."""
    return TeamReference(Link(team_path(uid)), name) if uid and name else TeamReference()


def grantee_path(grantee: Grantee) -> str:
    return team_path(grantee.uid) if grantee.is_team else user_path(grantee.username)


def encode_changes(
    changes: Sequence[PermissionChange], language: Language, *, is_dry_run: bool
) -> Raw:
    """Encode changes that were made, or that a dry run would make."""
    if is_dry_run:  # refuse what writing would refuse
        reject_oversized(changes)
    effects = chain.from_iterable(
        ((change, effect) for effect in change.effects) for change in changes
    )
    record = ChangeRecord(
        dry_run=is_dry_run,
        counts=dict(Counter(effect.kind.value for change in changes for effect in change.effects)),
        effects=[
            _effect_record(change, effect, language)
            for change, effect in islice(effects, MAX_EFFECTS)
        ],
        result=[_result_record(change) for change in changes[:MAX_EFFECTS]],
    )
    return Raw(encode(record))


def _effect_record(change: PermissionChange, effect: Effect, language: Language) -> EffectOnUser:
    return EffectOnUser(
        asset=Link(asset_path(change.asset.uid)),
        user=Link(grantee_path(change.user)),
        partial_permissions=partial_records(change.filters_of(effect) or {}) or UNSET,
        expires_at=change.end_of(effect),
        **effect_fields(effect, change.asset.asset_type, language),
    )


def _result_record(change: PermissionChange) -> ResultRecord:
    permissions = sorted(rules.own_permissions(change.after, change.asset.asset_type))
    return ResultRecord(
        asset=Link(asset_path(change.asset.uid)),
        user=Link(grantee_path(change.user)),
        permissions=[Link(permission_path(permission)) for permission in permissions],
    )


def history_record(
    entry: Row[Any],
    effect: LoggedEffect,
    asset_type: str,
    known_teams: Collection[int],
    language: Language,
    caller: Caller,
) -> HistoryRecord:
    """Users who left have no name any more. Teams whose names the caller may know are in `known_teams`."""
    source = entry.details.get("source")
    if source is not None and not caller.limits.includes_asset(source):
        source = None
    holder = Grantee(
        entry.subject_id, entry.subject_name or entry.subject_uid, uid=entry.subject_uid
    )
    is_known = holder.id in known_teams
    return HistoryRecord(
        date=entry.made_at,
        by=Link(user_path(entry.username or entry.user_uid)),
        act=entry.details["act"],
        user=Link(grantee_path(holder)),
        team__name=(holder.team_name if is_known else None) if holder.is_team else UNSET,
        partial_permissions=partial_records(effect.filters or {}) or UNSET,
        expires_at=effect.expires_at,
        source=Link(asset_path(source)) if source else UNSET,
        **effect_fields(effect.effect, asset_type, language),
    )
