"""The rows that a change of assignments deletes, inserts and updates, and those of its history."""

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import bindparam
from sqlalchemy.engine import Connection

from fieldgate.assets.sharing.grants import StoredAssignment
from fieldgate.assets.sharing.planning import Action, PermissionChange
from fieldgate.assets.tables import assignment_history, assignments
from fieldgate.db import Database, Timestamp, in_values, insert_rows_sync, new_uids, now
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import EffectKind

Row = dict[str, object]


class AssignmentRows(msgspec.Struct, frozen=True):
    deleted_ids: list[int]
    new: list[Row]
    filter_updates: list[Row]
    history: list[Row]

    @classmethod
    def of(
        cls, changes: Sequence[PermissionChange], action: Action, by: int, source: str | None = None
    ) -> "AssignmentRows":
        """`by` is the id of the user who makes the changes, `source` the uid of the asset that is cloned."""
        timestamp = Timestamp.pack(now())
        return cls(
            [id_ for change in changes for id_ in _deleted_ids(change)],
            _new_rows(changes, timestamp),
            [row for change in changes for row in _filter_updates(change)],
            _history_rows(
                changes, {"made_at": timestamp, "made_by": by, "act": action.value, "source": source}
            ),
        )  # fmt: skip

    def write(self, connection: Connection, database: Database) -> None:
        if self.deleted_ids:
            connection.execute(assignments.delete().where(in_values(database, assignments.c.id, self.deleted_ids)))
        insert_rows_sync(connection, assignments, self.new)
        if self.filter_updates:
            update = assignments.update().where(assignments.c.id == bindparam("row_id"))
            connection.execute(update.values(filters=bindparam("new_filters")), self.filter_updates)
        insert_rows_sync(connection, assignment_history, self.history)


def _deleted_ids(change: PermissionChange) -> Iterable[int]:
    before, after = change.before, change.after
    removed = (before.granted - after.granted) | (before.denied - after.denied)
    if removed:
        for row in change.asset.scope.direct.get(change.user.id, ()):
            if isinstance(row, StoredAssignment) and row.permission in removed:
                yield row.id


def _new_rows(changes: Iterable[PermissionChange], timestamp: int) -> list[Row]:
    rows: list[Row] = []
    for change in changes:
        before, after = change.before, change.after
        granted = [(permission, False) for permission in sorted(after.granted - before.granted)]
        denied = [(permission, True) for permission in sorted(after.denied - before.denied)]
        for permission, is_denied in (*granted, *denied):
            has_filters = permission == PARTIAL and not is_denied
            rows.append(
                {
                    "asset_id": change.asset.id,
                    "user_id": change.user.id,
                    "permission": permission,
                    "is_denied": is_denied,
                    "filters": msgspec.json.encode(after.filters).decode() if has_filters else None,
                    "created_at": timestamp,
                }
            )
    for row, uid in zip(rows, new_uids("p", len(rows)), strict=True):
        row["uid"] = uid
    return rows


def _filter_updates(change: PermissionChange) -> Iterable[Row]:
    if not any(effect.kind is EffectKind.FILTERED for effect in change.effects) or PARTIAL not in change.after.granted:
        return
    for row in change.asset.scope.direct[change.user.id]:
        if isinstance(row, StoredAssignment) and row.permission == PARTIAL:
            yield {"row_id": row.id, "new_filters": change.after.filters}


def _history_rows(changes: Iterable[PermissionChange], common: Row) -> list[Row]:
    rows: list[Row] = []
    # Most of a thousand users have the same effects, as one object, which `changes` keeps alive.
    columns: dict[int, list[Row]] = {}
    for change in changes:
        shared = columns.get(id(change.effects))
        if shared is None:
            columns[id(change.effects)] = shared = [
                {
                    **common,
                    "permission": effect.permission,
                    "what": effect.kind.value,
                    "why": effect.reason.value,
                    "because": effect.because,
                    "filters": None,
                }
                for effect in change.effects
            ]
        for effect, values in zip(change.effects, shared, strict=True):
            row = {**values, "asset_id": change.asset.id, "user_id": change.user.id}
            filters = change.filters_of(effect)
            if filters is not None:
                row["filters"] = msgspec.json.encode(filters).decode()
            rows.append(row)
    return rows
