"""Apply planned changes of assignments: raise collected errors, then write, unless it is a dry run.

Every route that changes assignments goes through `apply_changes`, so that none can forget the errors.
"""

from collections.abc import Sequence

import msgspec

from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, PermissionChange
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
