"""Move assets in, one transaction each, and say what was done with each and what was not."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
from sqlalchemy import Row, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.account_rules import MAX_NAME_CHARS as MAX_USERNAME_CHARS
from fieldgate.assets.asset_writer import AssetWriter, MovedAsset, complete_settings, parse_tags
from fieldgate.assets.deployments import Deployments
from fieldgate.assets.form_checker import ContentChecker, ContentToCheck
from fieldgate.assets.schemas import AssetType
from fieldgate.assets.sharing.changes import SharingChange, apply_change
from fieldgate.assets.sharing.grant_parsing import ErrorCollector, parse_assignments
from fieldgate.assets.sharing.grants import Action
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.assets.tables import COLLECTION, assets
from fieldgate.assets.write_schemas import AssetChange, AssetCreation
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.errors import Problem, Unauthorized, ValidationError
from fieldgate.http.request.body_parsing import EncodedJSON, UploadedFile, file_too_large
from fieldgate.i18n.languages import Language
from fieldgate.identity import User
from fieldgate.imports.upload import check_is_workbook
from fieldgate.move.people import People
from fieldgate.move.plan import AssetPart, KnownAsset, MoveAction, Step, decide, hashes
from fieldgate.move.source_assets import (
    MAX_SHOWN_CHARS,
    ListedAsset,
    Source,
    SourceAsset,
    UnreadableAsset,
)
from fieldgate.move.store import (
    choose_uid,
    find_known,
    find_other_source,
    is_collection,
    list_gone,
    list_shared,
    read_local,
    write_known,
)

MAX_NAMED = 20  # permissions in one note
MAX_REASONS = 200  # of one asset
MAX_REASON_CHARS = 5_000
MAX_PASSES = 10  # each finds up to 100 assignments that are not possible, and others wait for the transaction


class MoveResult(msgspec.Struct):
    """What was done with one asset, or would be."""

    source_uid: str
    action: MoveAction
    asset_type: str = ""
    name: str = ""
    owner: str = ""
    uid: str = ""  # here
    assignments: int = 0
    waiting: int = 0  # assignments to people who would be created
    reasons: list[str] = msgspec.field(default_factory=list)

    def note(self, reason: str) -> None:
        if len(self.reasons) < MAX_REASONS:
            self.reasons.append(reason[:MAX_REASON_CHARS])


class _DryRun(Exception):
    """Rolls the transaction back."""


class _Kept(Exception):
    """The asset here is left as it is, or not created. The text says why."""


_CHANGED_MEANWHILE = "It was changed here at this moment. Run the command again."


class _Move(msgspec.Struct, frozen=True):
    """One asset with what is to be written here."""

    asset: SourceAsset
    owner: User
    parent_uid: str | None
    assignments: list[dict[str, Any]]
    tags: Sequence[str]
    known: KnownAsset  # what it will be known as, if nothing was changed here
    before: KnownAsset | None
    step: Step
    result: MoveResult

    def known_now(self, local: dict[str, str] | None) -> KnownAsset:
        """What it is known as afterwards. Parts that were changed here stay known as changed."""
        if self.before is None:
            return msgspec.structs.replace(self.known, local=local or {})
        kept = [part.name for part in self.step.changed_here]
        return KnownAsset(
            self.known.uid,
            self.known.found | {name: self.before.found[name] for name in kept},
            (local or {}) | {name: self.before.local[name] for name in kept},
        )


class AssetMover:
    def __init__(
        self,
        database: AsyncDatabase,
        data_versions: DataVersions,
        writer: AssetWriter,
        checker: ContentChecker,
        source: Source,
        people: People,
        *,
        max_upload: int,
        is_dry_run: bool,
    ) -> None:
        self._database = database
        self._max_upload = max_upload
        self._writer = writer
        self._checker = checker
        self._source = source
        self._people = people
        self._is_dry_run = is_dry_run
        self._store = AssetStore(database, data_versions)
        self._sharing = AssignmentStore(database, data_versions)
        self._deployments = Deployments(database, data_versions)
        self._planned: set[str] = set()  # collections that a dry run would create

    async def move(self, listed: ListedAsset) -> MoveResult:
        """Move one asset. Raise `MoveError` if the source cannot be read any more."""
        owner = listed.owner[:MAX_USERNAME_CHARS]
        result = MoveResult(
            listed.uid, MoveAction.SKIP, listed.asset_type[:MAX_SHOWN_CHARS], owner=owner
        )
        try:
            await self._move(await self._read(listed), result)
        except UnreadableAsset as error:
            result.note(f"It cannot be read: {error}")
        except Problem as problem:
            result.action = MoveAction.SKIP
            for reason in _reasons(problem):
                result.note(reason)
        except _Kept as kept:
            result.action = (
                MoveAction.SKIP if result.action is MoveAction.CREATE else MoveAction.KEEP
            )
            result.note(str(kept))
        return result

    async def list_gone(self, listed: Sequence[ListedAsset]) -> list[MoveResult]:
        """Assets that are here, and that the source does not list any more."""
        names = {each.owner for each in listed}.union(self._source.accounts)
        owners = [
            owner for name in names if (owner := await self._people.find_owner(name)) is not None
        ]
        async with self._database.read_transaction() as connection:
            found = await list_gone(
                connection,
                self._source.name,
                [owner.id for owner in owners],
                {each.uid for each in listed},
            )
        reason = (
            "It is not there any more, or this account may not see it. It was not deleted here."
        )
        return [
            MoveResult(
                each.source_uid,
                MoveAction.KEEP,
                each.asset_type,
                each.name,
                each.username,
                each.uid,
                reasons=[reason],
            )
            for each in found
        ]

    async def _read(self, listed: ListedAsset) -> SourceAsset:
        try:
            return await self._source.read(listed)
        except (OSError, ValueError, RecursionError) as error:  # what it sent makes no sense
            raise UnreadableAsset(str(error)) from None

    async def _move(self, asset: SourceAsset, result: MoveResult) -> None:
        result.name = asset.name
        result.asset_type = asset.asset_type[:MAX_SHOWN_CHARS]
        if asset.asset_type not in get_args(AssetType):
            return result.note("There are no assets of this type here.")
        owner = await self._people.find_owner(asset.owner)
        if owner is None:
            return await self._move_without_owner(asset, result)
        parent_uid = await self._find_parent(asset, result)
        shared = await self._find_assignments(asset, result)
        tags = parse_tags(asset.tags)
        found = hashes(
            {
                AssetPart.QUESTIONS: asset.content,
                AssetPart.DETAILS: [asset.name, owner.username, parent_uid, asset.settings, tags],
                AssetPart.PUBLICATION: asset.is_active,
                AssetPart.SHARING: shared,
            }
        )
        async with self._database.read_transaction() as connection:
            before = await find_known(connection, self._source.name, asset.uid)
            local = None if before is None else await read_local(connection, before.uid)
            other = None if before else await find_other_source(connection, asset.uid)
            uid = await choose_uid(connection, asset.uid, before)
        if other is not None:
            result.action, result.uid = MoveAction.KEEP, asset.uid
            return result.note(
                f"It is here already, moved from {other}. Move from there to bring changes."
            )
        step = decide(before, found, local)
        if step.action is MoveAction.CREATE and uid != asset.uid:
            result.note("Its uid cannot be kept, so links to it change.")
        result.action, result.uid, result.assignments = step.action, uid, len(shared)
        if step.reason:
            result.note(step.reason)
        if (
            before
            and AssetPart.SHARING in step.changed_here
            and before.found[AssetPart.SHARING.name] != found[AssetPart.SHARING.name]
        ):
            await self._compare_sharing(uid, shared, result)
        if step.action is MoveAction.CREATE:
            result.reasons += asset.left_behind
        if step.action in (MoveAction.CREATE, MoveAction.CHANGE):
            move = _Move(
                asset, owner, parent_uid, shared, tags, KnownAsset(uid, found), before, step, result
            )
            await self._write(move, local)
            if self._is_dry_run and step.action is MoveAction.CREATE:
                self._planned.add(asset.uid)
        return None

    async def _move_without_owner(self, asset: SourceAsset, result: MoveResult) -> None:
        """Report what is wrong with it. In a dry run, the owner may be a user who would be created."""
        if not self._people.is_invited(asset.owner):
            return result.note(
                f"Its owner {asset.owner} is not here. Create this user, or use --users or --invite."
            )
        if asset.content:
            content = ContentToCheck(
                data=asset.content,
                asset_type=asset.asset_type,
                name=asset.name,
                asset_uid=asset.uid,
                allows_empty=True,
            )
            await self._checker.check(User(id=0), content)
        result.reasons += asset.left_behind
        result.action, result.assignments = (
            MoveAction.CREATE,
            len(await self._find_assignments(asset, result)),
        )
        self._planned.add(asset.uid)
        return None

    async def _find_parent(self, asset: SourceAsset, result: MoveResult) -> str | None:
        if asset.parent is None or asset.parent in self._planned:
            return None
        if asset.asset_type == COLLECTION:
            result.note("A collection cannot be in a collection here.")
            return None
        async with self._database.read_transaction() as connection:
            known = await find_known(connection, self._source.name, asset.parent)
            if known is not None and await is_collection(connection, known.uid):
                return known.uid
        result.note("Its collection is not here. What people have through it is not moved.")
        return None

    async def _find_assignments(
        self, asset: SourceAsset, result: MoveResult
    ) -> list[dict[str, Any]]:
        """The assignments as a request would name them. Those to people who are not here are reported."""
        found, missing = list[dict[str, Any]](), defaultdict[str, list[str]](list)
        for each in asset.assignments:
            user, permission = each.key
            name = await self._people.find_name(user)
            if name is None:
                missing[user].append(permission)
                continue
            fields = {"user": name, "permission": permission, "inherited": each.inherited}
            optional = {
                "partial_permissions": each.partial_permissions,
                "expires_at": each.expires_at,
            }
            item = fields | {key: value for key, value in optional.items() if value}
            errors = ErrorCollector()
            parse_assignments([item], errors)
            try:
                errors.raise_if_any()
            except ValidationError as invalid:
                texts = " ".join(
                    str(text) for messages in invalid.fields.values() for text in messages
                )
                result.note(f"Not assigned to {name}: {permission}. {texts}")
            else:
                found.append(item)
        for name, permissions in missing.items():
            if self._people.is_invited(name):
                result.waiting += len(permissions)
            else:
                result.note(f"{name} is not here. Not assigned: {', '.join(permissions)}")
        return found

    async def _write(self, move: _Move, local_before: dict[str, str] | None) -> None:
        asset, owner, uid, taken = move.asset, move.owner, move.known.uid, move.step.taken
        is_new = move.step.action is MoveAction.CREATE
        parent_ids: set[int | None] = set()
        values: dict[str, Any] = {"name": asset.name}

        async def check(connection: AsyncConnection, row: Row[Any]) -> None:
            if row.owner_id != owner.id:
                raise _Kept(f"It does not belong to {owner.username} here. Transfer it here first.")
            if await read_local(connection, uid) != local_before:
                raise _Kept(_CHANGED_MEANWHILE)
            if AssetPart.DETAILS not in taken:
                values["name"] = row.name  # and not the title of new questions
                return
            parent = select(assets.c.id).where(assets.c.uid == move.parent_uid)
            values["parent_id"] = (await connection.execute(parent)).scalar()
            parent_ids.update({row.parent_id, values["parent_id"]})

        async def finish(connection: AsyncConnection) -> None:
            for parent_id in sorted(filter(None, parent_ids)):
                await self._store.update_collection_summary(connection, parent_id)
            if AssetPart.PUBLICATION in taken:
                await self._deploy(connection, move)
            if AssetPart.SHARING in taken:
                await connection.run_sync(self._share, move)
            known = move.known_now(await read_local(connection, uid))
            if not await write_known(
                connection, self._source.name, asset.uid, known, is_new=is_new
            ):
                raise _Kept(_CHANGED_MEANWHILE)  # by another run
            if self._is_dry_run:
                raise _DryRun

        file = self._workbook(asset, move.result)
        moved = MovedAsset(uid=uid, values=values, file=file, check=check, finish=finish)
        content = EncodedJSON(asset.content) if asset.content else None
        try:
            if is_new:
                creation = AssetCreation(
                    name=asset.name,
                    asset_type=asset.asset_type,  # type: ignore[arg-type]  # checked before
                    content=content,
                    settings=asset.settings,
                    tag_string=asset.tags,
                    parent=move.parent_uid,
                )
                await self._writer.create(owner, creation, moved)
            else:
                if AssetPart.DETAILS in taken:
                    values |= {
                        "settings": complete_settings(asset.asset_type, asset.settings),
                        "tags": list(move.tags),
                    }
                change = AssetChange(content=content if AssetPart.QUESTIONS in taken else None)
                await self._writer.change(owner, uid, change, moved)
        except _DryRun:
            pass
        except Unauthorized:  # the uid was taken meanwhile
            raise _Kept(_CHANGED_MEANWHILE) from None

    def _workbook(self, asset: SourceAsset, result: MoveResult) -> UploadedFile | None:
        """The workbook that the content is from. One that could not be uploaded here is left out, and reported."""
        if asset.workbook is None:
            return None
        try:
            if len(asset.workbook) > self._max_upload:
                raise file_too_large(self._max_upload)
            check_is_workbook(asset.workbook, "file")
        except Problem as problem:
            result.note(f"Its workbook is left out. {' '.join(_reasons(problem))}")
            return None
        return UploadedFile(asset.workbook_name, asset.workbook)

    async def _deploy(self, connection: AsyncConnection, move: _Move) -> None:
        active = move.asset.is_active
        row = await connection.execute(
            select(assets.c.deployment_active).where(assets.c.uid == move.known.uid)
        )
        if active is None or (
            row.scalar() == active and AssetPart.QUESTIONS not in move.step.taken
        ):
            return
        try:
            await self._deployments.deploy_newest(
                connection, move.owner, move.known.uid, active=active
            )
        except Problem as problem:  # raised before anything was written
            move.result.note(f"It is not deployed: {problem.message}")

    async def _compare_sharing(
        self, uid: str, shared: Sequence[dict[str, Any]], result: MoveResult
    ) -> None:
        """Name who has what only there, or only here."""
        there = {(each["user"], each["permission"]) for each in shared if not each["inherited"]}
        async with self._database.read_transaction() as connection:
            here = await list_shared(connection, uid)
        only_here = {names[0] for names in here if there.isdisjoint(names)}
        only_there = there.difference(*here)
        for place, found in (("there", only_there), ("here", only_here)):
            if found:
                names = [f"{user} {permission}" for user, permission in sorted(found)]
                more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
                result.note(f"Only {place}: {', '.join(names[:MAX_NAMED])}{more}.")

    def _share(self, connection: Connection, move: _Move) -> None:
        """Make the assignments those of the source."""
        left = self._assign(connection, move, Action.REPLACE, move.assignments)
        move.result.assignments = len(left)
        # Replacing leaves out what the collection or a team passes on as well.
        direct = [item for item in left if not item["inherited"] and "expires_at" not in item]
        self._assign(connection, move, Action.ASSIGN, direct)

    def _assign(
        self, connection: Connection, move: _Move, action: Action, items: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Change assignments. What the rules here do not allow is left out and reported. Return the others."""
        left = list(items)
        for _ in range(MAX_PASSES):
            errors = ErrorCollector()
            change = SharingChange(
                action=action,
                by=move.owner,
                uids=[move.known.uid],
                grants=parse_assignments(left, errors),
                errors=errors,
                is_dry_run=False,
                replaces_all_users=action is Action.REPLACE,
                replaces_teams=True,
                keeps_passed_on=action is Action.REPLACE,
            )
            try:
                apply_change(self._sharing.in_transaction(connection), change)
                return left
            except ValidationError as invalid:
                refused = {
                    field.partition(".")[0]: messages for field, messages in invalid.fields.items()
                }
                if not all(map(str.isdecimal, refused)):
                    raise  # about all of them
                for position in sorted(map(int, refused), reverse=True):
                    item, texts = left.pop(position), " ".join(map(str, refused[str(position)]))
                    move.result.note(
                        f"Not assigned to {item['user']}: {item['permission']}. {texts}"
                    )
        raise _Kept("Too many of its assignments are not possible here.")


def _reasons(problem: Problem) -> list[str]:
    """What a refusal says: the problems of a form with their places, or the messages."""
    body = problem.body(Language.ENGLISH)
    problems = body.get("problems")
    if not isinstance(problems, list):
        texts = [each if isinstance(each, list) else [each] for each in body.values()]
        return [str(text) for group in texts for text in group]
    found = []
    for each in problems:
        place = ", ".join(
            f"{key} {each[key]}" if key != "sheet" else str(each[key])
            for key in ("sheet", "row", "column")
            if each.get(key) is not None
        )
        found.append(f"{place}: {each['message']}" if place else str(each["message"]))
    return found
