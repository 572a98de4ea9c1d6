"""`/api/v2/permission-assignments/`: the same permissions for many users on many assets, all at once or not at all."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import asset_not_found
from fieldgate.assets.sharing.io.request_parsing import (
    MAX_ITEMS,
    lacks_filters,
    parse_partial_permissions,
    parse_permission,
    parse_user,
    too_many_message,
    user_not_found_message,
)
from fieldgate.assets.sharing.io.serializers import CHANGE_EXAMPLE, encode_changes
from fieldgate.assets.sharing.loading import TAG
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee
from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, GrantRequest, PermissionChange
from fieldgate.assets.sharing.model.references import InvalidReference, parse_reference
from fieldgate.assets.sharing.routes.bulk_routes import MAX_LIST_BYTES
from fieldgate.assets.sharing.schemas import ChangeRecord, DryRunQuery, ManyAdded, ManyRemoved
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.concurrency import run_in_thread_if
from fieldgate.errors import BadRequest, Conflict, Forbidden
from fieldgate.http.operations import ResponseKind, operation
from fieldgate.http.request.body_parsing import JSONObject
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import User
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.submission_filters import Filters

PATH = "/api/v2/permission-assignments/"
MAX_ROWS = 20_000  # that one request writes

_Planner = Callable[[AssetGrants, Iterable[GrantRequest], ErrorCollector], list[PermissionChange]]
_FIELDS = {"user": "users", "permission": "permissions"}  # as one assignment calls them, and as many do


@operation(
    "POST",
    PATH + "add/",
    ResponseKind.RECORD,
    response=ChangeRecord,
    title=Message("Assign to many, on many assets"),
    description=Message(
        "Gives every user every permission on every asset, beside what they have: all of it, or nothing where one "
        "cannot be given. The caller must manage all of the assets."
    ),
    tag=TAG,
    body_schema=ManyAdded,
    max_body=MAX_LIST_BYTES,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 413, 415),
)
async def many_added(
    user: User, body: JSONObject, query: DryRunQuery, language: Language, store: AssignmentStore
) -> Raw:
    wanted = parse_struct(ManyAdded, _validate_lists(body))
    partials = wanted.partial_permissions
    return await _apply_batch(user, wanted, partials, query, language, store, Action.ASSIGN, planning.plan_assign)


@operation(
    "POST",
    PATH + "remove/",
    ResponseKind.RECORD,
    response=ChangeRecord,
    title=Message("Remove from many, on many assets"),
    description=Message(
        "Takes every permission from every user on every asset, with what cannot be without it: all of it, or nothing. "
        "The caller must manage all of the assets."
    ),
    tag=TAG,
    body_schema=ManyRemoved,
    max_body=MAX_LIST_BYTES,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 409, 413, 415),
)
async def many_removed(
    user: User, body: JSONObject, query: DryRunQuery, language: Language, store: AssignmentStore
) -> Raw:
    wanted = parse_struct(ManyRemoved, _validate_lists(body))
    return await _apply_batch(user, wanted, None, query, language, store, Action.REMOVE, planning.plan_remove)


def _validate_lists(body: JSONObject) -> JSONObject:
    """The body, unless there is more to say of its lists than that they are none."""
    mistakes = ErrorCollector()
    for field in ("assets", "users", "permissions"):
        given = body.get(field)
        if given == []:
            mistakes.add(field, Message("Name at least one."))
        elif isinstance(given, list) and len(given) > MAX_ITEMS:
            mistakes.add(field, too_many_message(MAX_ITEMS))
        elif isinstance(given, list) and not all(isinstance(each, str) for each in given):
            mistakes.add(field, Message("Send a list of texts."))
    mistakes.raise_if_any()
    return body


class _BatchRequest(msgspec.Struct, frozen=True):
    """What was sent, each thing once, by the names we know it by; None where it is none."""

    uids: list[str]
    names: list[str | None]
    permissions: list[str | None]
    partials: Filters | None
    mistakes: ErrorCollector


def _parse_batch(body: ManyRemoved, partials: Sequence[object] | None, action: Action) -> _BatchRequest:
    mistakes = ErrorCollector()
    assets = [_parse_uid(text, mistakes) for text in dict.fromkeys(body.assets)]
    names = [parse_user(text, "users", mistakes) for text in dict.fromkeys(body.users)]
    permissions = [parse_permission(text, "permissions", mistakes) for text in dict.fromkeys(body.permissions)]
    given = (
        parse_partial_permissions(permissions, partials, "partial_permissions", mistakes)
        if action is Action.ASSIGN
        else None
    )
    uids = list(dict.fromkeys(uid for uid in assets if uid is not None))
    if len(uids) < len(set(assets)):  # on which of the others it may be done does not matter then
        mistakes.raise_if_any()
    return _BatchRequest(uids, names, list(dict.fromkeys(permissions)), given, mistakes)


def _reject_oversized(batch: _BatchRequest, action: Action) -> None:
    """What is written grows with all three lists, and with what the permissions bring with them."""
    named = [each for each in batch.permissions if each is not None]
    reach = rules.with_implied if action is Action.ASSIGN else rules.with_dependent
    each = max(len(reach(named, asset_type)) for asset_type in rules.ASSIGNABLE)
    people = len({username_key(name) for name in batch.names if name is not None})
    count = len(batch.uids) * people * max(each, 1)
    if count > MAX_ROWS:
        raise BadRequest(
            PluralMessage(
                "This comes to {count} assignment, and at most {most} are made at once. Send fewer assets or users, "
                "several times.",
                "This comes to {count} assignments, and at most {most} are made at once. Send fewer assets or users, "
                "several times.",
                count,
                most=MAX_ROWS,
            )
        )


async def _apply_batch(
    user: User,
    body: ManyRemoved,
    partials: Sequence[object] | None,
    query: DryRunQuery,
    language: Language,
    store: AssignmentStore,
    action: Action,
    apply: _Planner,
) -> Raw:
    sent = len(body.assets) + len(body.users) + len(body.permissions)
    many = await run_in_thread_if(sent, _parse_batch, body, partials, action)
    _reject_oversized(many, action)
    async with store.transaction(many.uids, read_only=query.dry_run) as session:
        people = await session.find_grantees(name for name in many.names if name is not None)
        every = await _load_managed(session, user, many.uids, [person.id for person in people.values()])
        wanted = [
            GrantRequest(person, permission, many.partials if permission == PARTIAL else None)
            for person in _active_grantees(many.names, people, many.mistakes)
            for permission in many.permissions
            if permission is not None and not (action is Action.ASSIGN and lacks_filters(permission, many.partials))
        ]
        if action is Action.REMOVE:
            _reject_owners(every, {wish.user.id: wish.user for wish in wanted})
        count = len(every) * len(wanted)
        changes = await run_in_thread_if(count, _plan_all, every, wanted, many.mistakes, apply)
        many.mistakes.raise_if_any()
        if not query.dry_run:
            await session.write(action, user, changes)
    return await run_in_thread_if(count, encode_changes, changes, language, is_dry_run=query.dry_run)


def _reject_owners(all_grants: Iterable[AssetGrants], grantees: Mapping[int, Grantee]) -> None:
    for shared in all_grants:
        if owner := grantees.get(shared.scope.owner_id):
            raise Conflict(
                Message(
                    "{user} owns the asset {uid}, and an owner's permissions cannot be taken away.",
                    user=owner.username,
                    uid=shared.uid,
                )
            )


async def _load_managed(
    session: SharingTransaction, user: User, uids: Sequence[str], user_ids: Sequence[int]
) -> list[AssetGrants]:
    """The assets, if the caller manages all of them; else which of them he does not."""
    found = {shared.uid: shared for shared in await session.load_many(uids, [user.id, *user_ids])}
    for uid in uids:
        if uid not in found:
            raise asset_not_found(uid)
        if "manage_asset" not in found[uid].authorize(user).allowed:
            raise Forbidden(Message("You do not manage the asset {uid}.", uid=uid))
    return [found[uid] for uid in uids]


def _parse_uid(text: str, errors: ErrorCollector) -> str | None:
    try:
        return parse_reference("assets", text)
    except InvalidReference as misnamed:
        errors.add("assets", misnamed.message)
        return None


def _active_grantees(
    names: Iterable[str | None], grantees: dict[str, Grantee], errors: ErrorCollector
) -> list[Grantee]:
    """The users, each once. Who is disabled is nobody here."""
    found: dict[Grantee, None] = {}
    for name in names:
        person = None if name is None else grantees.get(username_key(name))
        if person is not None and person.is_active:
            found[person] = None
        elif name is not None:
            errors.add("users", user_not_found_message(name))
    return list(found)


def _plan_all(
    all_grants: Iterable[AssetGrants], requests: Sequence[GrantRequest], errors: ErrorCollector, apply: _Planner
) -> list[PermissionChange]:
    """What becomes of the wishes on every asset; a mistake tells on which."""
    changes: list[PermissionChange] = []
    for shared in all_grants:
        own = ErrorCollector()
        changes += apply(shared, requests, own)
        for field, message in own.items():
            told = Message("{message} (asset {uid})", message=message, uid=shared.uid)
            errors.add(_FIELDS.get(field, field), told)
    return changes


OPERATIONS = (many_added, many_removed)
