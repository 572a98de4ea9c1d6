"""`/api/v2/permissions/`: the catalogue and the effects of assigning; read-only, no login needed."""

from collections.abc import Mapping, Sequence

import msgspec

from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import Scope
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME
from fieldgate.permissions.effects import not_for_type_message
from fieldgate.permissions.schemas import (
    EffectsFilters,
    EffectsRecord,
    PermissionRecord,
    WhatIfQuery,
    WhatIfRecord,
)
from fieldgate.permissions.serializers import effects_record, encoded_permissions, what_if_record
from fieldgate.permissions.what_if import name_errors, removal_errors, unknown_permission_message

MAX_HELD_PERMISSIONS = 20  # names; there are half as many permissions
routes = Routes(tag="Permissions", scope=Scope.READ, asset_limit=AssetLimit.FREE, depends_on=())


@routes.get_list(
    "/api/v2/permissions/",
    response=PermissionRecord,
    title=Message("Permissions"),
    description=Message(
        "All permissions that can be assigned on an asset, with what each implies and contradicts."
    ),
)
async def permission_list(page: PageRequest, language: Language) -> ListResult[PermissionRecord]:
    records = list(encoded_permissions(language).values())
    return ListResult(len(records), records[page.offset : page.offset + page.limit])


@routes.get(
    "/api/v2/permissions/effects/",
    response=WhatIfRecord,
    title=Message("What if …"),
    description=Message(
        "What removing and assigning several permissions at once would grant and remove, and why, without any asset."
    ),
)
async def permission_what_if(query: WhatIfQuery, language: Language) -> msgspec.Raw:
    lists = {"held": query.held, "assign": query.assign, "remove": query.remove}
    wrong = _too_many_errors(lists)
    if not wrong:
        errors = {
            "held": name_errors(query.held, query.asset_type),
            "assign": name_errors(query.assign, query.asset_type),
            "remove": removal_errors(query.remove, query.assign),
        }
        wrong = {name: found for name, found in errors.items() if found}
    if wrong:
        raise ValidationError(wrong)
    held = rules.with_implied(query.held, query.asset_type)
    return what_if_record(
        held, frozenset(query.assign), frozenset(query.remove), query.asset_type, language
    )


@routes.get(
    "/api/v2/permissions/{codename}/",
    response=PermissionRecord,
    title=Message("Permission"),
    description=Message("One permission, with what it implies and contradicts."),
)
async def permission_detail(codename: str, language: Language) -> msgspec.Raw:
    record = encoded_permissions(language).get(codename)
    if record is None:
        raise NotFound(unknown_permission_message(codename))
    return record


@routes.get(
    "/api/v2/permissions/{codename}/effects/",
    response=EffectsRecord,
    title=Message("Effects of a permission"),
    description=Message(
        "What assigning a permission would grant and remove, and why, without any asset."
    ),
)
async def permission_effects(
    codename: str, query: EffectsFilters, language: Language
) -> msgspec.Raw:
    if codename not in BY_CODENAME:
        raise NotFound(unknown_permission_message(codename))
    wrong = _too_many_errors({"held": query.held})
    if not wrong:
        if codename not in rules.assignable(query.asset_type):
            wrong["asset_type"] = [not_for_type_message(codename)]
        if errors := name_errors(query.held, query.asset_type):
            wrong["held"] = errors
    if wrong:
        raise ValidationError(wrong)
    held = rules.with_implied(query.held, query.asset_type)
    return effects_record(codename, held, query.asset_type, language)


def _too_many_errors(lists: Mapping[str, Sequence[str]]) -> dict[str, list[Message]]:
    message = PluralMessage(
        "Name at most {count} permission.",
        "Name at most {count} permissions.",
        MAX_HELD_PERMISSIONS,
    )
    return {name: [message] for name, given in lists.items() if len(given) > MAX_HELD_PERMISSIONS}
