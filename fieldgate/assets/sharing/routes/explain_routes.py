"""`…/permission-assignments/explain/`: why a user has a permission on an asset, or does not."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fieldgate.accounts.schemas import user_path
from fieldgate.accounts.store import AccountStore
from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.accounts.teams import TeamStore
from fieldgate.assets.authorization import asset_not_found
from fieldgate.assets.schemas import asset_path, team_path
from fieldgate.assets.sharing.grant_parsing import (
    parse_field,
    parse_permission_field,
    user_not_found_message,
)
from fieldgate.assets.sharing.schemas import ASSIGNMENTS_PATH, TAG
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.errors import Forbidden, ValidationError
from fieldgate.http.links import Link
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope
from fieldgate.permissions.explain import explain
from fieldgate.permissions.rules import PermissionState
from fieldgate.permissions.schemas import ExplanationRecord, TeamReference
from fieldgate.permissions.serializers import explanation_record

routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


class ExplanationFilters(msgspec.Struct, frozen=True):
    user: Annotated[str, Meta(description="User: URL, path or username.")]
    permission: Annotated[str, Meta(description="Permission: URL, path or codename.")]


@routes.get(
    ASSIGNMENTS_PATH + "explain/",
    response=ExplanationRecord,
    title=Message("Explain a permission"),
    description=Message(
        "Whether a user has a permission on an asset, all rules that apply, and what would have to be assigned. "
        "Managers of the asset can ask about any user, others about themselves and the public. Only superusers see "
        "whether another user is a superuser; others see what is assigned to that user."
    ),
    error_statuses=(403,),
)
async def assignment_explanation(
    uid: str,
    query: ExplanationFilters,
    caller: Caller,
    language: Language,
    store: AssignmentStore,
    accounts: AccountStore,
    teams: TeamStore,
) -> ExplanationRecord:
    asset = await store.authorize(uid, caller)
    username = parse_field("user", "users", query.user)
    permission = parse_permission_field("permission", query.permission)
    user = await accounts.find_any(username)
    if not asset.may_manage and (user is None or user.id not in (caller.id, PUBLIC_USER_ID)):
        raise Forbidden(
            Message(
                "Only those who manage this asset can ask about others. Ask about yourself, or the public."
            )
        )
    if user is None:
        raise ValidationError({"user": [user_not_found_message(username)]})
    found = await store.load_of_user([uid], user.id)
    if asset.id not in found:  # deleted since it was authorized
        raise asset_not_found()
    scope = found[asset.id].scope
    state, is_disabled = scope.state_of(user.id), user.disabled_at is not None
    if is_disabled and not _has_any(state):
        raise ValidationError({"user": [user_not_found_message(username)]})
    explanation = explain(
        state,
        permission,
        asset.asset_type,
        is_superuser=user.is_superuser and (caller.sees_everything or user.id == caller.id),
        is_disabled=is_disabled,
    )
    passing = scope.passed_by_teams(user.id).teams.get(permission, ())
    names = await teams.names(caller, passing)
    needed = _SCOPES.get(permission, Scope.READ)
    lacks_scope = user.id == caller.id and not caller.limits.allows(needed)
    record = explanation_record(
        explanation,
        via=[
            TeamReference(Link(team_path(names[each].uid)), names[each].name)
            if each in names
            else TeamReference()
            for each in passing
        ],
        user=Link(user_path(user.username)),
        asset=Link(asset_path(uid)),
        asset_type=asset.asset_type,
        language=language,
    )
    return msgspec.structs.replace(record, missing_scope=needed.value if lacks_scope else None)


_SCOPES = {
    "change_asset": Scope.IMPORTS,
    "manage_asset": Scope.SHARING,
}  # of other permissions: read


def _has_any(state: PermissionState) -> bool:
    """Whether the user has, or is denied, permissions other than the public's."""
    return bool(state.is_owner or state.granted or state.denied or state.collection or state.teams)
