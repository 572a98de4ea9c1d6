"""`/api/v2/teams/`: teams, their members, and the assets that they can use."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Row

from fieldgate.accounts.schemas import user_path
from fieldgate.accounts.teams import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, Role, TeamStore
from fieldgate.assets.schemas import TEAMS_PATH, asset_path, team_path
from fieldgate.assets.sharing.grant_parsing import ErrorCollector, parse_field, parse_user
from fieldgate.assets.sharing.schemas import DryRunQuery
from fieldgate.assets.sharing.team_assets import MAX_PREVIEWED_ASSETS, TeamAsset, TeamAssets
from fieldgate.errors import Forbidden, ValidationError
from fieldgate.http.links import Link
from fieldgate.http.operations import Created, PreviewResult, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions.catalogue import permission_path
from fieldgate.permissions.sentences import access_sentence
from fieldgate.settings import Settings

TEAM_PATH = TEAMS_PATH + "{uid}/"
MEMBERS_PATH = TEAM_PATH + "members/"
MEMBER_PATH = MEMBERS_PATH + "{username}/"
MAX_ADDED = 1_000  # people in one request
MAX_PREVIEWED = 10_000  # records

routes = Routes(tag="Teams", scope=Scope.READ, no_store=True)


class TeamRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the team.")]
    uid: Annotated[str, Meta(description="Identifier of the team.")]
    name: Annotated[str, Meta(description="Name of the team. Several teams can have the same.")]
    description: Annotated[str, Meta(description="What the team is for.")]
    role: Annotated[
        Role | None,
        Meta(description="Your role in the team; null for superusers who are not in it."),
    ]
    member_count: Annotated[int, Meta(description="Number of members.")]
    asset_count: Annotated[
        int, Meta(description="Number of assets that the team can use and you can see.")
    ]
    members: Annotated[Link, Meta(description="URL of the list of members.")]
    assets: Annotated[Link, Meta(description="URL of the list of assets that the team can use.")]
    date_created: Annotated[datetime, Meta(description="When the team was created.")]


class MemberRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the membership.")]
    user: Annotated[Link, Meta(description="URL of the user.")]
    user__username: Annotated[str, Meta(description="Username.")]
    role: Annotated[
        Role,
        Meta(description="admin: can change the team; member: can use what is shared with it."),
    ]
    date_joined: Annotated[datetime, Meta(description="When the user was added.")]
    user__is_active: Annotated[bool, Meta(description="false if the account is disabled.")]


class TeamAssetRecord(msgspec.Struct, frozen=True, kw_only=True):
    asset: Annotated[Link, Meta(description="URL of the asset.")]
    asset__name: Annotated[str, Meta(description="Name of the asset.")]
    asset__asset_type: Annotated[str, Meta(description="Type of the asset.")]
    permissions: Annotated[
        list[Link], Meta(description="What the team may do, or the user through it.")
    ]
    access: Annotated[str, Meta(description="The same in a sentence.")]
    user: Annotated[
        Link | UnsetType, Meta(description="In a preview: who gains or loses the permissions.")
    ] = UNSET


class TeamPreview(msgspec.Struct, frozen=True):
    dry_run: Annotated[bool, Meta(description="Always true: nothing was written.")]
    users: Annotated[list[Link], Meta(description="Who would join or leave the team.")]
    assets: Annotated[
        list[TeamAssetRecord],
        Meta(
            description="What these people would gain or lose, on assets that you can see; at most 10,000 records. "
            f"Only the newest {MAX_PREVIEWED_ASSETS} assets are looked at, fewer for more than 50 people."
        ),
    ]


class MembersAdded(msgspec.Struct, frozen=True):
    added: Annotated[
        list[MemberRecord], Meta(description="The new members. Others were in the team already.")
    ]


_Name = Annotated[str, Meta(description="Name of the team.", max_length=MAX_NAME_CHARS)]
_Description = Annotated[
    str, Meta(description="What the team is for.", max_length=MAX_DESCRIPTION_CHARS)
]


class NewTeam(msgspec.Struct, frozen=True):
    name: _Name
    description: _Description = ""


class TeamChanges(msgspec.Struct, frozen=True):
    name: Annotated[_Name | None, Meta(description="Name of the team. Null: as it is.")] = None
    description: Annotated[
        _Description | None, Meta(description="What the team is for. Null: as it is.")
    ] = None


class NewMembers(msgspec.Struct, frozen=True):
    user: Annotated[str, Meta(description="A user: URL, path or username.")] = ""
    users: Annotated[
        list[str],
        Meta(
            description="Several users instead: URL, path or username of each.",
            max_length=MAX_ADDED,
        ),
    ] = []
    role: Annotated[Role, Meta(description="Role of the new members.")] = "member"


class RoleChange(msgspec.Struct, frozen=True):
    role: Annotated[Role, Meta(description="The new role.")]


@routes.get_list(
    TEAMS_PATH,
    response=TeamRecord,
    title=Message("Teams"),
    description=Message("The teams that you are in, by name; for superusers all teams."),
)
async def team_list(
    page: PageRequest, user: User, teams: TeamStore, assets: TeamAssets
) -> ListResult[TeamRecord]:
    found = await teams.page(user, page)
    return ListResult(found.total, await _team_records(user, found.rows, assets))


@routes.post(
    TEAMS_PATH,
    response=TeamRecord,
    title=Message("Create a team"),
    description=Message("Creates a team, of which you are the first admin."),
    error_statuses=(403, 409),
    scope=Scope.SHARING,
)
async def team_creation(
    user: User, body: NewTeam, settings: Settings, teams: TeamStore, assets: TeamAssets
) -> Created:
    if not (settings.teams_by_users or user.is_superuser):
        raise Forbidden(Message("Only superusers can create teams here. Ask one of them."))
    uid = await teams.create(user, body.name, body.description)
    [record] = await _team_records(user, [await teams.find(user, uid)], assets)
    return Created(record, record.url)


@routes.get(
    TEAM_PATH,
    response=TeamRecord,
    title=Message("Team"),
    description=Message("One team that you are in."),
)
async def team_detail(uid: str, user: User, teams: TeamStore, assets: TeamAssets) -> TeamRecord:
    return (await _team_records(user, [await teams.find(user, uid)], assets))[0]


@routes.patch(
    TEAM_PATH,
    response=TeamRecord,
    title=Message("Change a team"),
    description=Message("Changes the name or the description. Only for admins of the team."),
    error_statuses=(403,),
    scope=Scope.SHARING,
)
async def team_change(
    uid: str, user: User, body: TeamChanges, teams: TeamStore, assets: TeamAssets
) -> TeamRecord:
    await teams.change(user, uid, body.name, body.description)
    return (await _team_records(user, [await teams.find(user, uid)], assets))[0]


@routes.delete(
    TEAM_PATH,
    alternate_response=TeamPreview,
    title=Message("Delete a team"),
    description=Message(
        "Deletes a team with its permissions. What is assigned to its members themselves stays. Only for admins of the "
        "team. `dry_run` deletes nothing and says what its members would lose."
    ),
    error_statuses=(403,),
    scope=Scope.SHARING,
)
async def team_deletion(
    uid: str,
    user: User,
    query: DryRunQuery,
    language: Language,
    teams: TeamStore,
    assets: TeamAssets,
) -> PreviewResult | None:
    if query.dry_run:
        team = await teams.find_managed(user, uid)
        members = await teams.members(user, uid, PageRequest(MAX_ADDED, 0))
        return await _preview(user, team, members.rows, language, assets)
    await teams.delete(user, uid)
    return None


@routes.get_list(
    MEMBERS_PATH,
    response=MemberRecord,
    title=Message("Members of a team"),
    description=Message("The members of a team that you are in, by username."),
)
async def member_list(
    uid: str, page: PageRequest, user: User, teams: TeamStore
) -> ListResult[MemberRecord]:
    found = await teams.members(user, uid, page)
    return ListResult(found.total, [_member_record(uid, row) for row in found.rows])


@routes.post(
    MEMBERS_PATH,
    response=MembersAdded,
    alternate_response=TeamPreview,
    title=Message("Add members"),
    description=Message(
        "Adds one user or several to a team; who is in it already keeps their role. Nothing is written if one does not "
        "exist. Only for admins of the team. `dry_run` adds nobody and says which assets they could use."
    ),
    error_statuses=(403, 409),
    scope=Scope.SHARING,
)
async def member_addition(
    uid: str,
    user: User,
    body: NewMembers,
    query: DryRunQuery,
    language: Language,
    teams: TeamStore,
    assets: TeamAssets,
) -> Created | PreviewResult:
    names = _parse_names(body)
    if query.dry_run:
        team = await teams.find_managed(user, uid)
        return await _preview(
            user, team, await teams.find_new_members(user, uid, names), language, assets
        )
    added = await teams.add_members(user, uid, names, body.role)
    return Created(
        MembersAdded([_member_record(uid, row) for row in added]), Link(f"{team_path(uid)}members/")
    )


def _parse_names(body: NewMembers) -> list[str]:
    if bool(body.user) == bool(body.users):
        raise ValidationError({"user": [Message("Name one user, or several in users.")]})
    if body.user:
        return [parse_field("user", "users", body.user)]
    errors = ErrorCollector()
    names = [parse_user(each, "users", errors) for each in body.users]
    errors.raise_if_any()
    return [name for name in names if name is not None]


@routes.get(
    MEMBER_PATH,
    response=MemberRecord,
    title=Message("Member of a team"),
    description=Message("One member of a team that you are in."),
)
async def member_detail(uid: str, username: str, user: User, teams: TeamStore) -> MemberRecord:
    return _member_record(uid, await teams.find_member(user, uid, username))


@routes.patch(
    MEMBER_PATH,
    response=MemberRecord,
    title=Message("Change the role of a member"),
    description=Message(
        "Makes a member an admin, or an admin a member. Only for admins; one must be left."
    ),
    error_statuses=(403, 409),
    scope=Scope.SHARING,
)
async def member_change(
    uid: str, username: str, user: User, body: RoleChange, teams: TeamStore
) -> MemberRecord:
    await teams.set_role(user, uid, username, body.role)
    return _member_record(uid, await teams.find_member(user, uid, username))


@routes.delete(
    MEMBER_PATH,
    alternate_response=TeamPreview,
    title=Message("Remove a member"),
    description=Message(
        "Removes a member from a team. Only for admins; members can remove themselves. An admin must be left. "
        "`dry_run` removes nobody and says what the member would lose."
    ),
    error_statuses=(403, 409),
    scope=Scope.SHARING,
)
async def member_removal(
    uid: str,
    username: str,
    user: User,
    query: DryRunQuery,
    language: Language,
    teams: TeamStore,
    assets: TeamAssets,
) -> PreviewResult | None:
    if query.dry_run:
        member = await teams.find_member(user, uid, username)
        team = await (teams.find if member.id == user.id else teams.find_managed)(user, uid)
        return await _preview(user, team, [member], language, assets)
    await teams.remove_member(user, uid, username)
    return None


@routes.get_list(
    TEAM_PATH + "assets/",
    response=TeamAssetRecord,
    title=Message("Assets of a team"),
    description=Message(
        "The assets that are shared with a team that you are in, the last changed first."
    ),
)
async def team_asset_list(
    uid: str,
    page: PageRequest,
    user: User,
    language: Language,
    teams: TeamStore,
    assets: TeamAssets,
) -> ListResult[TeamAssetRecord]:
    team = await teams.find(user, uid)
    count, found = await assets.page(user, team.id, page)
    return ListResult(count, [_asset_record(each, language) for each in found])


async def _preview(
    user: User, team: Row[Any], people: Sequence[Row[Any]], language: Language, assets: TeamAssets
) -> PreviewResult:
    changed = await assets.gained(user, team.id, {row.id: row.username for row in people})
    records = [_asset_record(each, language) for each in changed[:MAX_PREVIEWED]]
    return PreviewResult(
        TeamPreview(True, [Link(user_path(row.username)) for row in people], records)
    )


async def _team_records(
    user: User, rows: Sequence[Row[Any]], assets: TeamAssets
) -> list[TeamRecord]:
    counts = await assets.counts(user, [row.id for row in rows])
    return [_team_record(row, counts[row.id]) for row in rows]


def _team_record(row: Row[Any], asset_count: int) -> TeamRecord:
    path = team_path(row.uid)
    return TeamRecord(
        url=Link(path),
        uid=row.uid,
        name=row.name,
        description=row.description,
        role=row.role,
        member_count=row.member_count,
        asset_count=asset_count,
        members=Link(f"{path}members/"),
        assets=Link(f"{path}assets/"),
        date_created=row.created_at,
    )


def _member_record(uid: str, row: Row[Any]) -> MemberRecord:
    return MemberRecord(
        url=Link(f"{team_path(uid)}members/{row.username}/"),
        user=Link(user_path(row.username)),
        user__username=row.username,
        role=row.role,
        date_joined=row.joined_at,
        user__is_active=row.disabled_at is None,
    )


def _asset_record(found: TeamAsset, language: Language) -> TeamAssetRecord:
    asset = found.asset
    return TeamAssetRecord(
        asset=Link(asset_path(asset.uid)),
        asset__name=asset.name,
        asset__asset_type=asset.asset_type,
        permissions=[Link(permission_path(each)) for each in sorted(found.permissions)],
        access=access_sentence(found.permissions, found.filters, asset.asset_type, language),
        user=Link(user_path(found.username)) if found.username else UNSET,
    )
