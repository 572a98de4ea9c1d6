"""Apply planned changes of assignments: raise collected errors, then write, unless it is a dry run.

Every route that changes assignments goes through `apply_changes`, so that none can forget the errors. Only POST of one
assignment does the same in a function of its own, which is committed together with others (`Database.write`).
"""

from collections.abc import Sequence

import msgspec

from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, PermissionChange, plan_type_change
from fieldgate.assets.sharing.store import SharingTransaction
from fieldgate.identity import User


class SharingCommand(msgspec.Struct, frozen=True, kw_only=True):
    """Who changes assignments, and how the history records it."""

    action: Action
    user: User
    is_dry_run: bool
    source_uid: str | None = None


async def apply_changes(
    transaction: SharingTransaction,
    command: SharingCommand,
    changes: Sequence[PermissionChange],
    errors: ErrorCollector,
) -> None:
    """Write the changes. Raise `ValidationError` if planning them found errors."""
    errors.raise_if_any()
    if not command.is_dry_run:
        await transaction.write(command.action, command.user, changes, command.source_uid)


async def apply_type_change(transaction: SharingTransaction, uid: str, user: User) -> None:
    """Recompute implied permissions after new content changed the type of an asset.

    Those of a survey include permissions for submissions.
    """
    await transaction.write(Action.IMPORT, user, plan_type_change(await transaction.load(uid)))
