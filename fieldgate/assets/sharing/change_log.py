"""Changes of permissions in the log: one entry per person and asset, with all its effects. The history reads them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.sharing.grants import Action, PermissionChange
from fieldgate.db.log import PROJECT, LogEntry, LogObject, LogUser
from fieldgate.permissions import rules
from fieldgate.permissions.effects import Effect, EffectKind, EffectReason
from fieldgate.permissions.submission_filters import Filters

# Changes of what the public may do, the more important first: permission, whether it was given, and KoboToolbox's word.
_PUBLIC_ACTIONS = (
    ("view_submissions", True, "share-data-publicly"),
    ("view_asset", True, "share-form-publicly"),
    ("view_asset", False, "unshare-form-publicly"),
    ("view_submissions", False, "unshare-data-publicly"),
)
_ACTIONS = {Action.CLONE: "clone-permissions", Action.TRANSFER: "transfer"}
# Permission, kind, reason, because, and if it sets some: new filters, then a new end (None: it does not end).
EffectRow = tuple[Any, ...]


class LoggedEffect(msgspec.Struct, frozen=True):
    """An effect of an entry, with the filters and the end that it set."""

    effect: Effect
    filters: Filters | None
    expires_at: datetime | UnsetType | None


def change_entries(
    changes: Iterable[PermissionChange], action: Action, source: str | None
) -> list[LogEntry]:
    """`source` is the uid of the asset that was cloned."""
    entries = []
    # Most of a thousand users have the same effects, as one object, which `changes` keeps alive.
    known: dict[int, list[EffectRow]] = {}
    for change in changes:
        rows = known.get(id(change.effects))
        if rows is None:
            rows = known[id(change.effects)] = list(map(effect_row, change.effects))
        if change.after.ends or any(
            change.filters_of(effect) is not None or effect.kind is EffectKind.ENDS
            for effect in change.effects
        ):
            rows = [
                effect_row(each, change.filters_of(each), change.end_of(each))
                for each in change.effects
            ]
        asset, user = change.asset, change.user
        before, after = (
            rules.own_permissions(each, asset.asset_type) for each in (change.before, change.after)
        )
        entries.append(
            permission_entry(
                LogObject("asset", asset.uid, asset.name, asset.scope.owner_id),
                LogUser(user.id, user.uid, user.username),
                _action_word(action, user.id, before, after),
                {
                    "act": action.value,
                    **({} if source is None else {"source": source}),
                    **_logged_ends(change),
                },
                (before, after),
                rows,
            )
        )
    return entries


def permission_entry(
    asset: LogObject,
    user: LogUser,
    action: str,
    details: Mapping[str, Any],
    permissions: tuple[Iterable[str], Iterable[str]],
    effects: Sequence[EffectRow],
) -> LogEntry:
    """`permissions` are those of the user before and after the change."""
    before, after = map(sorted, permissions)
    return LogEntry(
        log_type=PROJECT,
        action=action,
        object=asset,
        subject=user,
        details={**details, "before": before, "after": after, "effects": effects},
        effect_count=len(effects),
    )


def _logged_ends(change: PermissionChange) -> dict[str, Any]:
    """When permissions ended before and end now, of those that do."""
    found = {"ends_before": change.before.ends, "ends_after": change.after.ends}
    return {
        name: msgspec.to_builtins(dict(sorted(ends.items())))
        for name, ends in found.items()
        if ends
    }


def effect_row(
    effect: Effect, filters: Filters | None = None, end: datetime | UnsetType | None = UNSET
) -> EffectRow:
    row = (effect.permission, effect.kind.value, effect.reason.value, effect.because)
    if not isinstance(end, UnsetType):
        return (*row, filters, None if end is None else msgspec.to_builtins(end))
    return row if filters is None else (*row, filters)


def logged_effects(details: Mapping[str, Any]) -> list[LoggedEffect]:
    """Return the effects of an entry, in the order in which they happened."""
    return [
        LoggedEffect(
            Effect(permission, EffectKind(kind), EffectReason(reason), because),
            more[0] if more else None,
            msgspec.convert(more[1], datetime | None) if len(more) > 1 else UNSET,
        )
        for permission, kind, reason, because, *more in details.get("effects", ())
    ]


def _action_word(
    action: Action, user_id: int, before: frozenset[str], after: frozenset[str]
) -> str:
    if user_id == PUBLIC_USER_ID and action is not Action.CLONE:
        for permission, is_given, word in _PUBLIC_ACTIONS:
            if permission in (after - before if is_given else before - after):
                return word
    return _ACTIONS.get(action, "modify-user-permissions")
