"""`…/permission-assignments/explain/`: why somebody may do something with an asset, or may not."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from sqlalchemy import Row

from fieldgate.accounts.schemas import user_path
from fieldgate.accounts.store import AccountStore
from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.authorization import Access
from fieldgate.assets.sharing.io.request_parsing import no_user
from fieldgate.assets.sharing.loading import TAG
from fieldgate.assets.sharing.model.references import Kind, Misnamed, read_name
from fieldgate.errors import Forbidden, ValidationError
from fieldgate.http.operations import get
from fieldgate.http.response.links import Link
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.permissions.catalogue import BY_CODENAME
from fieldgate.permissions.explain import explain
from fieldgate.permissions.rules import PermissionState
from fieldgate.permissions.schemas import ExplanationRecord
from fieldgate.permissions.serializers import explanation_record

_SITE = "http://127.0.0.1:8000/api/v2"
_EXAMPLE: dict[str, Any] = {
    "user": f"{_SITE}/users/amina/",
    "permission": f"{_SITE}/permissions/change_asset/",
    "asset": f"{_SITE}/assets/aKm3pVw8ZtQ2xYcRnB5dFh/",
    "allowed": True,
    "rules": [
        {
            "rule": "assigned",
            "message": "change_asset is assigned on this asset, and implied by: manage_asset.",
            "decided": True,
            "because": [f"{_SITE}/permissions/manage_asset/"],
        }
    ],
    "needs": [],
}


class ExplanationFilters(msgspec.Struct, frozen=True):
    user: Annotated[str, Meta(description="Whom to explain it for: an address, a path or a username.")]
    permission: Annotated[str, Meta(description="What to explain: an address, a path or a codename.")]


@get(
    "/api/v2/assets/{uid}/permission-assignments/explain/",
    response=ExplanationRecord,
    title=Message("Why"),
    description=Message(
        "Whether a user has a permission on an asset, every rule that has a say in it, and what would have to be"
        " assigned. For who manages the asset; for everybody about himself and the public. Whether somebody else is a"
        " superuser is told to superusers only: others learn what is assigned to him."
    ),
    tag=TAG,
    example=_EXAMPLE,
    error_statuses=(403, 404),
)
async def assignment_explanation(
    uid: str, filters: ExplanationFilters, caller: Caller, language: Language, access: Access, accounts: AccountStore
) -> ExplanationRecord:
    asset = await access.to(uid, caller)
    username = _named("user", "users", filters.user)
    permission = _named("permission", "permissions", filters.permission)
    if permission not in BY_CODENAME:
        raise ValidationError(
            {"permission": [Message("There is no permission {codename}.", codename=permission[:100])]}
        )
    user = await accounts.find_any(username)
    if not asset.may_manage and not _is_own_business(user, caller):
        raise Forbidden(
            Message("Only those who manage this asset can ask about others. Ask about yourself, or the public.")
        )
    standing = None if user is None else await access.standing(asset, user.id)
    if user is None or standing is None or (user.disabled_at is not None and not _is_concerned(standing)):
        raise ValidationError({"user": [no_user(username)]})
    explanation = explain(
        standing,
        permission,
        asset.asset_type,
        is_superuser=user.is_superuser and (caller.is_superuser or user.id == caller.id),
        is_disabled=user.disabled_at is not None,
    )
    return explanation_record(
        explanation, user=Link(user_path(user.username)), asset=Link(f"/api/v2/assets/{uid}/"), language=language
    )


def _is_own_business(user: Row[Any] | None, caller: Caller) -> bool:
    return user is not None and user.id in (caller.id, PUBLIC_USER_ID)


def _is_concerned(standing: PermissionState) -> bool:
    """Whether something is, or would be, somebody's here for himself."""
    return bool(standing.is_owner or standing.granted or standing.denied or standing.collection)


def _named(field: str, kind: Kind, text: str) -> str:
    try:
        return read_name(kind, text)
    except Misnamed as misnamed:
        raise ValidationError({field: [misnamed.message]}) from None


OPERATIONS = (assignment_explanation,)
