"""What handlers ask first: the asset with its assignments as a caller may see or change them."""

from collections.abc import Iterable, Sequence

from fieldgate.assets.authorization import Access, Asset, user_of
from fieldgate.assets.sharing.io.request_parsing import Named, wishes
from fieldgate.assets.sharing.model.grants import Shared, Shown
from fieldgate.assets.sharing.model.planning import Mistakes, Wish
from fieldgate.assets.sharing.store import Session, SharingStore
from fieldgate.errors import NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User

TAG = "Sharing"
PATH = "/api/v2/assets/{uid}/permission-assignments/"

OWNERS = Message("The owner's permissions cannot be taken away.")


async def seen(uid: str, caller: Caller, access: Access, store: SharingStore) -> Shared:
    """The asset with what the caller may be shown of its assignments."""
    return await seen_of(await access.to(uid, caller), caller, store)


async def seen_of(asset: Asset, caller: Caller, store: SharingStore) -> Shared:
    """The same, where it is known already that the caller may see the asset."""
    known = (user_of(caller), asset.owner_id)
    async with store.session([asset.uid], is_reading=True) as session:
        shared = await session.shared(asset.uid, None if asset.may_manage else known)
    shared.to(caller)
    return shared


async def seen_in_assets(uids: Sequence[str], caller: Caller, store: SharingStore) -> dict[str, Shared]:
    """Assets of a list by uid, each with the owner's assignments, the public's and the caller's own."""
    async with store.session(uids, is_reading=True) as session:
        found = await session.all_shared(uids, [user_of(caller)])
    return {shared.uid: shared for shared in found}


async def one(session: Session, uid: str, assignment: str, caller: Caller) -> tuple[Shared, Shown]:
    """An assignment the caller may see, with what decides about it."""
    holder = await session.holder(uid, assignment)
    known = [number for number in (holder, caller.id) if number is not None]
    shared = await session.shared(uid, known)
    shared.to(caller)
    for shown in shared.shown_to(caller):
        if shown.uid == assignment:
            return shared, shown
    raise NotFound(Message("There is no assignment {uid}.", uid=assignment[:50]))


async def wished(session: Session, named: Sequence[Named], mistakes: Mistakes) -> list[Wish]:
    """What is wanted, for the users who were named."""
    return wishes(named, await session.people(each.user for each in named), mistakes)


async def managed(session: Session, uid: str, user: User, wanted: Iterable[Wish] | None = None) -> Shared:
    """The asset, with the assignments of those concerned, or of everybody; refused unless the caller manages it."""
    of_users = None if wanted is None else {user.id, *(wish.user.id for wish in wanted)}
    shared = await session.shared(uid, of_users)
    shared.to(user).need("manage_asset")
    return shared
