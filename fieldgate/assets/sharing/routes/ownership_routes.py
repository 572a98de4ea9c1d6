"""`/api/v2/project-ownership/invites/`: offer assets to another user, who becomes their owner by accepting."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from fieldgate.accounts.schemas import user_path
from fieldgate.assets.schemas import INVITES_PATH, asset_path
from fieldgate.assets.sharing.grant_parsing import parse_field
from fieldgate.assets.sharing.ownership_invites import (
    ERRORS,
    Answer,
    Invite,
    InviteStatus,
    OwnershipInvites,
    TransferStatus,
)
from fieldgate.assets.sharing.schemas import TAG
from fieldgate.errors import NotFound
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import Created, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest

INVITE_PATH = INVITES_PATH + "{uid}/"
MAX_ASSETS = 100  # in one invitation
routes = Routes(tag=TAG, scope=Scope.READ, no_store=True)


class OwnershipTransferRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the transfer.")]
    asset: Annotated[Link, Meta(description="Asset that is offered.")]
    asset__name: Annotated[str, Meta(description="Name of the asset.")]
    status: Annotated[TransferStatus, Meta(description="State of the transfer.")]
    error: Annotated[str | None, Meta(description="Why the asset was not transferred.")]
    date_modified: Annotated[datetime, Meta(description="When the state changed.")]


class OwnershipInviteRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the invitation.")]
    sender: Annotated[Link, Meta(description="Owner of the assets.")]
    recipient: Annotated[Link, Meta(description="User who becomes the owner by accepting.")]
    status: Annotated[InviteStatus, Meta(description="State of the invitation.")]
    date_created: Annotated[datetime, Meta(description="When it was sent.")]
    date_modified: Annotated[datetime, Meta(description="When its state changed.")]
    transfers: Annotated[list[OwnershipTransferRecord], Meta(description="One for each asset.")]


class InviteFilters(msgspec.Struct, frozen=True):
    status: Annotated[InviteStatus | None, Meta(description="State of the invitations.")] = None
    received: Annotated[
        bool | None, Meta(description="true: those that you received; false: those that you sent.")
    ] = None


class NewInviteBody(msgspec.Struct, frozen=True):
    recipient: Annotated[str, Meta(description="The new owner: URL, path or username.")]
    assets: Annotated[
        list[str], Meta(description="Uids of assets that you own.", min_length=1, max_length=MAX_ASSETS)
    ]  # fmt: skip


class InviteAnswer(msgspec.Struct, frozen=True):
    status: Annotated[
        Answer, Meta(description="accepted or declined, by the recipient; cancelled, by the sender.")
    ]  # fmt: skip


@routes.get_list(
    INVITES_PATH,
    response=OwnershipInviteRecord,
    title=Message("Invitations to own forms"),
    description=Message("Invitations that the caller sent or received, newest first."),
    formats=(Format.JSON,),
)
async def ownership_invite_list(
    page: PageRequest,
    user: User,
    query: InviteFilters,
    language: Language,
    invites: OwnershipInvites,
) -> ListResult[OwnershipInviteRecord]:
    count, found = await invites.list_own(user, page, query.status, received=query.received)
    return ListResult(count, [_invite_record(each, language) for each in found])


@routes.post(
    INVITES_PATH,
    response=OwnershipInviteRecord,
    title=Message("Offer ownership"),
    description=Message(
        "Offers assets to another user. Nothing changes until the user accepts. An asset can be in one open "
        "invitation only."
    ),
    scope=Scope.SHARING,
)
async def ownership_invite_creation(
    user: User, body: NewInviteBody, language: Language, invites: OwnershipInvites
) -> Created:
    recipient = parse_field("recipient", "users", body.recipient)
    uids = dict.fromkeys(parse_field("assets", "assets", each) for each in body.assets)
    uid = await invites.create(user, recipient, list(uids))
    return Created(_invite_record(await invites.find(user, uid), language), Link(_path(uid)))


@routes.get(
    INVITE_PATH,
    response=OwnershipInviteRecord,
    title=Message("Invitation to own forms"),
    description=Message("One invitation that the caller sent or received."),
    formats=(Format.JSON,),
)
async def ownership_invite_detail(
    uid: str, user: User, language: Language, invites: OwnershipInvites
) -> OwnershipInviteRecord:
    return _invite_record(await invites.find(user, uid), language)


@routes.patch(
    INVITE_PATH,
    response=OwnershipInviteRecord,
    title=Message("Answer an invitation"),
    description=Message(
        "The recipient accepts or declines, the sender cancels. Accepting makes the recipient the owner of all "
        "assets at once; the former owner keeps manage_asset, and the assets leave collections of the former owner."
    ),
    error_statuses=(409,),
    scope=Scope.SHARING,
)
async def ownership_invite_answer(
    uid: str, user: User, body: InviteAnswer, language: Language, invites: OwnershipInvites
) -> OwnershipInviteRecord:
    return _invite_record(await invites.answer(user, uid, body.status), language)


@routes.delete(
    INVITE_PATH,
    title=Message("Delete an invitation"),
    description=Message("Cancels and deletes an open invitation. Only for its sender."),
    error_statuses=(409,),
    scope=Scope.SHARING,
)
async def ownership_invite_deletion(uid: str, user: User, invites: OwnershipInvites) -> None:
    await invites.delete(user, uid)


@routes.get_list(
    INVITE_PATH + "transfers/",
    response=OwnershipTransferRecord,
    title=Message("Transfers of an invitation"),
    description=Message("The assets of an invitation, and whether they were transferred."),
    formats=(Format.JSON,),
)
async def ownership_transfer_list(
    uid: str, page: PageRequest, user: User, language: Language, invites: OwnershipInvites
) -> ListResult[OwnershipTransferRecord]:
    records = _invite_record(await invites.find(user, uid), language).transfers
    return ListResult(len(records), records[page.offset : page.offset + page.limit])


@routes.get(
    INVITE_PATH + "transfers/{transfer}/",
    response=OwnershipTransferRecord,
    title=Message("Transfer of an asset"),
    description=Message("One asset of an invitation, and whether it was transferred."),
    formats=(Format.JSON,),
)
async def ownership_transfer_detail(
    uid: str, transfer: str, user: User, language: Language, invites: OwnershipInvites
) -> OwnershipTransferRecord:
    invite = await invites.find(user, uid)
    records = _invite_record(invite, language).transfers
    for row, record in zip(invite.transfers, records, strict=True):
        if row.uid == transfer:
            return record
    raise NotFound(Message("There is no transfer {uid}.", uid=transfer[:50]))


def _path(uid: str) -> str:
    return f"{INVITES_PATH}{uid}/"


def _invite_record(invite: Invite, language: Language) -> OwnershipInviteRecord:
    row = invite.row
    return OwnershipInviteRecord(
        url=Link(_path(row.uid)),
        sender=Link(user_path(row.sender)),
        recipient=Link(user_path(row.recipient)),
        status=row.status,
        date_created=row.created_at,
        date_modified=row.modified_at,
        transfers=[
            OwnershipTransferRecord(
                url=Link(f"{_path(row.uid)}transfers/{each.uid}/"),
                asset=Link(asset_path(each.asset_uid)),
                asset__name=each.name,
                status=each.status,
                error=translate(ERRORS[each.error], language) if each.error else None,
                date_modified=each.modified_at,
            )
            for each in invite.transfers
        ],
    )
