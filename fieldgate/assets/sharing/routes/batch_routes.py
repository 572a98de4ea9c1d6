"""`/api/v2/permission-assignments/`: assign or remove permissions for many users on many assets in one transaction."""

from msgspec import UNSET, Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.sharing.changes import SharingChange, change_assignments
from fieldgate.assets.sharing.grant_parsing import (
    MAX_ITEMS,
    ErrorCollector,
    lacks_filters,
    parse_asset,
    parse_end,
    parse_partial_permissions,
    parse_permission,
    parse_user,
    too_many_message,
)
from fieldgate.assets.sharing.grants import Action, Grant, run_by_cost
from fieldgate.assets.sharing.schemas import (
    BATCH_PATH,
    MAX_LIST_BYTES,
    TAG,
    ChangeRecord,
    DryRunQuery,
    ManyAdded,
    ManyRemoved,
)
from fieldgate.assets.sharing.serializers import encode_changes
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.errors import BadRequest
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.http.request.body_parsing import JSONObject
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import Scope, User
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL

MAX_ROWS = 20_000  # written by one request
routes = Routes(tag=TAG, scope=Scope.SHARING, asset_limit=AssetLimit.HANDLER)


@routes.post(
    BATCH_PATH + "add/",
    response=ChangeRecord,
    status=200,
    title=Message("Assign to many users on many assets"),
    description=Message(
        "Assigns every permission to every user on every asset, in addition to what they have. Nothing is written if "
        "one assignment is refused. The caller must manage all of the assets."
    ),
    body_schema=ManyAdded,
    max_body=MAX_LIST_BYTES,
)
async def many_added(
    user: User, body: JSONObject, query: DryRunQuery, language: Language, store: AssignmentStore
) -> Raw:
    parsed = parse_struct(ManyAdded, _validate_lists(body))
    return await _change_many(Action.ASSIGN, user, parsed, query, language, store)


@routes.post(
    BATCH_PATH + "remove/",
    response=ChangeRecord,
    status=200,
    title=Message("Remove from many users on many assets"),
    description=Message(
        "Removes every permission from every user on every asset, with the permissions that depend on it. Nothing is "
        "written if one removal is refused. The caller must manage all of the assets."
    ),
    body_schema=ManyRemoved,
    max_body=MAX_LIST_BYTES,
    error_statuses=(409,),
)
async def many_removed(
    user: User, body: JSONObject, query: DryRunQuery, language: Language, store: AssignmentStore
) -> Raw:
    parsed = parse_struct(ManyRemoved, _validate_lists(body))
    return await _change_many(Action.REMOVE, user, parsed, query, language, store)


def _validate_lists(body: JSONObject) -> JSONObject:
    """Return the body. Raise `ValidationError` for lists that are empty, too long or not of strings."""
    errors = ErrorCollector()
    for field in ("assets", "users", "permissions"):
        given = body.get(field)
        if given == []:
            errors.add(field, Message("Name at least one."))
        elif isinstance(given, list) and len(given) > MAX_ITEMS:
            errors.add(field, too_many_message(MAX_ITEMS))
        elif isinstance(given, list) and not all(isinstance(each, str) for each in given):
            errors.add(field, Message("Send a list of texts."))
    errors.raise_if_any()
    return body


async def _change_many(
    action: Action,
    user: User,
    body: ManyRemoved,
    query: DryRunQuery,
    language: Language,
    store: AssignmentStore,
) -> Raw:
    size = len(body.assets) + len(body.users) + len(body.permissions)
    change = await run_by_cost(size, _parse_batch, action, user, body, query)
    changes = await change_assignments(store, change)
    return await run_by_cost(
        len(changes), encode_changes, changes, language, is_dry_run=query.dry_run
    )


def _parse_batch(
    action: Action, user: User, body: ManyRemoved, query: DryRunQuery
) -> SharingChange:
    errors = ErrorCollector()
    assets = [parse_asset(text, "assets", errors) for text in dict.fromkeys(body.assets)]
    names = [parse_user(text, "users", errors) for text in dict.fromkeys(body.users)]
    permissions = [
        parse_permission(text, "permissions", errors) for text in dict.fromkeys(body.permissions)
    ]
    filters, end = (
        None,
        parse_end(body.expires_at if isinstance(body, ManyAdded) else UNSET, "expires_at", errors),
    )
    if isinstance(body, ManyAdded):
        filters = parse_partial_permissions(
            permissions, body.partial_permissions, "partial_permissions", errors
        )
    uids = list(dict.fromkeys(uid for uid in assets if uid is not None))
    if len(uids) < len(set(assets)):  # permissions on the other assets do not matter then
        errors.raise_if_any()
    usernames = {username_key(name): name for name in names if name is not None}
    known = list(dict.fromkeys(each for each in permissions if each is not None))
    _reject_oversized(action, len(uids) * len(usernames), known)
    valid: list[str | None] = [
        each for each in known if action is Action.REMOVE or not lacks_filters(each, filters)
    ]
    return SharingChange(
        action=action,
        by=user,
        uids=uids,
        grants=[
            Grant(
                name,
                each,
                filters if each == PARTIAL else None,
                is_valid=each is not None,
                expires_at=end,
            )
            for name in usernames.values()
            for each in valid or [None]
        ],
        errors=errors,
        is_dry_run=query.dry_run,
        names_assets=True,
        field_names={"user": "users", "permission": "permissions"},
    )


def _reject_oversized(action: Action, users_on_assets: int, permissions: list[str]) -> None:
    """Limit the rows to write: assets x users x permissions, with those that they imply."""
    expand = rules.with_implied if action is Action.ASSIGN else rules.with_dependent
    rows_per_user = max(len(expand(permissions, asset_type)) for asset_type in rules.ASSIGNABLE)
    count = users_on_assets * max(rows_per_user, 1)
    if count > MAX_ROWS:
        raise BadRequest(
            PluralMessage(
                "This comes to {count} assignment; the limit is {most} per request. Send fewer assets or users in "
                "each request.",
                "This comes to {count} assignments; the limit is {most} per request. Send fewer assets or users in "
                "each request.",
                count,
                most=MAX_ROWS,
            )
        )
