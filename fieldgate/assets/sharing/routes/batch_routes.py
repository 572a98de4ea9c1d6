"""`/api/v2/permission-assignments/`: the same permissions for many users on many assets, all at once or not at all."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import no_asset
from fieldgate.assets.sharing.io.request_parsing import (
    MOST_ITEMS,
    is_unsaid,
    no_user,
    read_partials,
    read_permission,
    read_user,
    too_many,
)
from fieldgate.assets.sharing.io.serializers import CHANGE_EXAMPLE, change_told
from fieldgate.assets.sharing.loading import TAG
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import Person, Shared
from fieldgate.assets.sharing.model.planning import Act, Change, Mistakes, Wish
from fieldgate.assets.sharing.model.references import Misnamed, read_name
from fieldgate.assets.sharing.routes.bulk_routes import LARGEST_LIST
from fieldgate.assets.sharing.schemas import ChangeRecord, DryRun, ManyAdded, ManyRemoved
from fieldgate.assets.sharing.store import Session, SharingStore
from fieldgate.concurrency import aside
from fieldgate.errors import BadRequest, Conflict, Forbidden
from fieldgate.http.operations import ResponseKind, operation
from fieldgate.http.request.body_parsing import JSONObject
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.permissions import rules
from fieldgate.permissions.rules import PARTIAL, Filters

PATH = "/api/v2/permission-assignments/"
MOST_ROWS = 20_000  # that one request writes

_Apply = Callable[[Shared, Iterable[Wish], Mistakes], list[Change]]
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
    max_body=LARGEST_LIST,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 413, 415),
)
async def many_added(user: User, body: JSONObject, filters: DryRun, language: Language, store: SharingStore) -> Raw:
    wanted = parse_struct(ManyAdded, _checked(body))
    partials = wanted.partial_permissions
    return await _change(user, wanted, partials, filters, language, store, Act.ASSIGN, planning.assigned)


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
    max_body=LARGEST_LIST,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 409, 413, 415),
)
async def many_removed(user: User, body: JSONObject, filters: DryRun, language: Language, store: SharingStore) -> Raw:
    wanted = parse_struct(ManyRemoved, _checked(body))
    return await _change(user, wanted, None, filters, language, store, Act.REMOVE, planning.removed)


def _checked(body: JSONObject) -> JSONObject:
    """The body, unless there is more to say of its lists than that they are none."""
    mistakes = Mistakes()
    for field in ("assets", "users", "permissions"):
        given = body.get(field)
        if given == []:
            mistakes.note(field, Message("Name at least one."))
        elif isinstance(given, list) and len(given) > MOST_ITEMS:
            mistakes.note(field, too_many(MOST_ITEMS))
        elif isinstance(given, list) and not all(isinstance(each, str) for each in given):
            mistakes.note(field, Message("Send a list of texts."))
    mistakes.refuse()
    return body


class _Many(msgspec.Struct, frozen=True):
    """What was sent, each thing once, by the names we know it by; None where it is none."""

    uids: list[str]
    names: list[str | None]
    permissions: list[str | None]
    partials: Filters | None
    mistakes: Mistakes


def _read(body: ManyRemoved, partials: Sequence[object] | None, act: Act) -> _Many:
    mistakes = Mistakes()
    assets = [_uid(text, mistakes) for text in dict.fromkeys(body.assets)]
    names = [read_user(text, "users", mistakes) for text in dict.fromkeys(body.users)]
    permissions = [read_permission(text, "permissions", mistakes) for text in dict.fromkeys(body.permissions)]
    given = read_partials(permissions, partials, "partial_permissions", mistakes) if act is Act.ASSIGN else None
    uids = list(dict.fromkeys(uid for uid in assets if uid is not None))
    if len(uids) < len(set(assets)):  # on which of the others it may be done does not matter then
        mistakes.refuse()
    return _Many(uids, names, list(dict.fromkeys(permissions)), given, mistakes)


def _refuse_too_much(many: _Many, act: Act) -> None:
    """What is written grows with all three lists, and with what the permissions bring with them."""
    named = [each for each in many.permissions if each is not None]
    reach = rules.with_implied if act is Act.ASSIGN else rules.with_dependent
    each = max(len(reach(named, asset_type)) for asset_type in rules.ASSIGNABLE)
    people = len({username_key(name) for name in many.names if name is not None})
    count = len(many.uids) * people * max(each, 1)
    if count > MOST_ROWS:
        raise BadRequest(
            Message(
                "This comes to {count} assignments, and at most {most} are made at once. Send fewer assets or users, "
                "several times.",
                count=count,
                most=MOST_ROWS,
            )
        )


async def _change(
    user: User,
    body: ManyRemoved,
    partials: Sequence[object] | None,
    filters: DryRun,
    language: Language,
    store: SharingStore,
    act: Act,
    apply: _Apply,
) -> Raw:
    sent = len(body.assets) + len(body.users) + len(body.permissions)
    many = await aside(sent, _read, body, partials, act)
    _refuse_too_much(many, act)
    async with store.session(many.uids, is_reading=filters.dry_run) as session:
        people = await session.people(name for name in many.names if name is not None)
        every = await _managed(session, user, many.uids, [person.id for person in people.values()])
        wanted = [
            Wish(person, permission, many.partials if permission == PARTIAL else None)
            for person in _active(many.names, people, many.mistakes)
            for permission in many.permissions
            if permission is not None and not (act is Act.ASSIGN and is_unsaid(permission, many.partials))
        ]
        if act is Act.REMOVE:
            _refuse_owners(every, {wish.user.id: wish.user for wish in wanted})
        count = len(every) * len(wanted)
        changes = await aside(count, _on_all, every, wanted, many.mistakes, apply)
        many.mistakes.refuse()
        if not filters.dry_run:
            await session.write(act, user, changes)
    return await aside(count, change_told, changes, language, is_dry_run=filters.dry_run)


def _refuse_owners(every: Iterable[Shared], people: Mapping[int, Person]) -> None:
    for shared in every:
        if owner := people.get(shared.place.owner_id):
            raise Conflict(
                Message(
                    "{user} owns the asset {uid}, and an owner's permissions cannot be taken away.",
                    user=owner.username,
                    uid=shared.uid,
                )
            )


async def _managed(session: Session, user: User, uids: Sequence[str], of_users: Sequence[int]) -> list[Shared]:
    """The assets, if the caller manages all of them; else which of them he does not."""
    found = {shared.uid: shared for shared in await session.all_shared(uids, [user.id, *of_users])}
    for uid in uids:
        if uid not in found:
            raise no_asset(uid)
        if "manage_asset" not in found[uid].to(user).allowed:
            raise Forbidden(Message("You do not manage the asset {uid}.", uid=uid))
    return [found[uid] for uid in uids]


def _uid(text: str, mistakes: Mistakes) -> str | None:
    try:
        return read_name("assets", text)
    except Misnamed as misnamed:
        mistakes.note("assets", misnamed.message)
        return None


def _active(names: Iterable[str | None], people: dict[str, Person], mistakes: Mistakes) -> list[Person]:
    """The users, each once. Who is disabled is nobody here."""
    found: dict[Person, None] = {}
    for name in names:
        person = None if name is None else people.get(username_key(name))
        if person is not None and person.is_active:
            found[person] = None
        elif name is not None:
            mistakes.note("users", no_user(name))
    return list(found)


def _on_all(every: Iterable[Shared], wanted: Sequence[Wish], mistakes: Mistakes, apply: _Apply) -> list[Change]:
    """What becomes of the wishes on every asset; a mistake tells on which."""
    changes: list[Change] = []
    for shared in every:
        own = Mistakes()
        changes += apply(shared, wanted, own)
        for field, message in own.all():
            told = Message("{message} (asset {uid})", message=message, uid=shared.uid)
            mistakes.note(_FIELDS.get(field, field), told)
    return changes


OPERATIONS = (many_added, many_removed)
