"""`/api/v2/permission-assignments/`: the same permissions for many users on many assets, all at once or not at all."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.sharing import changing
from fieldgate.assets.sharing.access import no_asset
from fieldgate.assets.sharing.aside import aside
from fieldgate.assets.sharing.asking import OWNERS, TAG
from fieldgate.assets.sharing.changing import Act, Change, Mistakes, Wish
from fieldgate.assets.sharing.everybody import LARGEST_LIST
from fieldgate.assets.sharing.naming import Misnamed, read_name
from fieldgate.assets.sharing.records import ChangeRecord, DryRun, ManyAdded, ManyRemoved
from fieldgate.assets.sharing.shared import Person, Shared
from fieldgate.assets.sharing.showing import CHANGE_EXAMPLE, change_told
from fieldgate.assets.sharing.store import Session, SharingStore
from fieldgate.assets.sharing.wanted import is_unsaid, no_user, read_partials, read_permission, read_user
from fieldgate.http.bodies import WholeObject
from fieldgate.http.credentials import User
from fieldgate.http.errors import BadRequest, Conflict, Forbidden, NotFound
from fieldgate.http.fields import read_fields
from fieldgate.http.language import Language, Message
from fieldgate.http.operations import Shape, operation
from fieldgate.permissions.rules import PARTIAL

PATH = "/api/v2/permission-assignments/"
MOST_PAIRS = 20_000  # of an asset and a user

_Apply = Callable[[Shared, Iterable[Wish], Mistakes], list[Change]]
_FIELDS = {"user": "users", "permission": "permissions"}  # as one assignment calls them, and as many do


@operation(
    "POST",
    PATH + "add/",
    Shape.RECORD,
    of=ChangeRecord,
    title=Message("Assign to many, on many assets"),
    about=Message(
        "Gives every user every permission on every asset, beside what they have: all of it, or nothing where one "
        "cannot be given. The caller must manage all of the assets."
    ),
    tag=TAG,
    takes=ManyAdded,
    most_bytes=LARGEST_LIST,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    refusals=(403, 404, 413, 415),
)
async def many_added(user: User, body: WholeObject, filters: DryRun, language: Language, store: SharingStore) -> Raw:
    wanted = read_fields(ManyAdded, body)
    partials = wanted.partial_permissions
    return await _change(user, wanted, partials, filters, language, store, Act.ASSIGN, changing.assigned)


@operation(
    "POST",
    PATH + "remove/",
    Shape.RECORD,
    of=ChangeRecord,
    title=Message("Remove from many, on many assets"),
    about=Message(
        "Takes every permission from every user on every asset, with what cannot be without it: all of it, or nothing. "
        "The caller must manage all of the assets."
    ),
    tag=TAG,
    takes=ManyRemoved,
    most_bytes=LARGEST_LIST,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    refusals=(403, 404, 409, 413, 415),
)
async def many_removed(user: User, body: WholeObject, filters: DryRun, language: Language, store: SharingStore) -> Raw:
    wanted = read_fields(ManyRemoved, body)
    return await _change(user, wanted, None, filters, language, store, Act.REMOVE, changing.removed)


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
    uids = list(dict.fromkeys(map(_uid, body.assets)))
    if len(uids) * len(set(body.users)) > MOST_PAIRS:
        said = Message("These are too many pairs of an asset and a user; at most {most} are taken.", most=MOST_PAIRS)
        raise BadRequest(said)
    mistakes = Mistakes()
    names = [read_user(text, "users", mistakes) for text in body.users]
    permissions = [read_permission(text, "permissions", mistakes) for text in body.permissions]
    given = read_partials(permissions, partials, "partial_permissions", mistakes) if act is Act.ASSIGN else None
    async with store.session(uids, is_reading=filters.dry_run) as session:
        people = await session.people(name for name in names if name is not None)
        every = await _managed(session, user, uids, [person.id for person in people.values()])
        wanted = [
            Wish(person, permission, given if permission == PARTIAL else None)
            for person in _active(names, people, mistakes)
            for permission in dict.fromkeys(permissions)
            if permission is not None and not (act is Act.ASSIGN and is_unsaid(permission, given))
        ]
        owners = {shared.place.owner_id for shared in every}
        if act is Act.REMOVE and any(wish.user.id in owners for wish in wanted):
            raise Conflict(OWNERS)
        count = len(every) * len(wanted)
        changes = await aside(count, _on_all, every, wanted, mistakes, apply)
        mistakes.refuse()
        if not filters.dry_run:
            await session.write(act, user, changes)
    return await aside(count, change_told, changes, language, is_dry_run=filters.dry_run)


async def _managed(session: Session, user: User, uids: Sequence[str], of_users: Sequence[int]) -> list[Shared]:
    """The assets, if the caller manages all of them; else which of them he does not."""
    found = {shared.uid: shared for shared in await session.all_shared(uids, [user.id, *of_users])}
    for uid in uids:
        if uid not in found:
            raise no_asset(uid)
        if "manage_asset" not in found[uid].to(user).allowed:
            raise Forbidden(Message("You do not manage the asset {uid}.", uid=uid))
    return [found[uid] for uid in uids]


def _uid(text: str) -> str:
    try:
        return read_name("assets", text)
    except Misnamed as misnamed:
        raise NotFound(misnamed.message) from None


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
