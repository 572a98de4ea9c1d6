"""`/api/v2/permissions/`: the catalogue and the effects of assigning; read-only, no login needed."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.operations import get, get_list
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME
from fieldgate.permissions.effects import not_for_type_message
from fieldgate.permissions.schemas import EffectsFilters, EffectsRecord, PermissionRecord, WhatIfQuery, WhatIfRecord
from fieldgate.permissions.serializers import effects_record, encoded_permissions, what_if_record
from fieldgate.permissions.what_if import name_errors, removal_errors, unknown_permission_message

TAG = "Permissions"
MAX_HELD_PERMISSIONS = 20  # names; there are half as many permissions

_EXAMPLE = {
    "url": "http://127.0.0.1:8000/api/v2/permissions/change_asset/",
    "codename": "change_asset",
    "implied": ["http://127.0.0.1:8000/api/v2/permissions/view_asset/"],
    "contradictory": [],
    "name": "Can change asset",
}
_EFFECTS_EXAMPLE: dict[str, Any] = {
    "permission": "http://127.0.0.1:8000/api/v2/permissions/view_submissions/",
    "asset_type": "survey",
    "held": [
        "http://127.0.0.1:8000/api/v2/permissions/partial_submissions/",
        "http://127.0.0.1:8000/api/v2/permissions/view_asset/",
    ],
    "effects": [
        {
            "permission": "http://127.0.0.1:8000/api/v2/permissions/view_submissions/",
            "effect": "granted",
            "reason": "asked",
            "because": None,
            "message": "view_submissions: granted, as asked.",
            "label": "View submissions",
            "why": "chosen",
        },
        {
            "permission": "http://127.0.0.1:8000/api/v2/permissions/partial_submissions/",
            "effect": "removed",
            "reason": "contradicted",
            "because": "http://127.0.0.1:8000/api/v2/permissions/view_submissions/",
            "message": "partial_submissions: removed, contradicted by view_submissions.",
            "label": "Act on submissions only from specific users",
            "why": "not possible together with “View submissions”",
        },
    ],
    "result": [
        "http://127.0.0.1:8000/api/v2/permissions/view_asset/",
        "http://127.0.0.1:8000/api/v2/permissions/view_submissions/",
    ],
}

_WHAT_IF_EXAMPLE: dict[str, Any] = {
    "asset_type": "survey",
    "held": _EFFECTS_EXAMPLE["held"],
    "assigned": [_EFFECTS_EXAMPLE["permission"]],
    "removed": [],
    "effects": _EFFECTS_EXAMPLE["effects"],
    "result": _EFFECTS_EXAMPLE["result"],
}


@get_list(
    "/api/v2/permissions/",
    response=PermissionRecord,
    title=Message("Permissions"),
    description=Message("All permissions that can be assigned on an asset, with what each implies and contradicts."),
    tag=TAG,
    depends_on=(),
    example=_EXAMPLE,
)
async def permission_list(page: PageRequest, language: Language) -> ListResult[PermissionRecord]:
    records = list(encoded_permissions(language).values())
    return ListResult(len(records), records[page.offset : page.offset + page.limit])


@get(
    "/api/v2/permissions/{codename}/",
    response=PermissionRecord,
    title=Message("Permission"),
    description=Message("One permission, with what it implies and contradicts."),
    tag=TAG,
    depends_on=(),
    example=_EXAMPLE,
    error_statuses=(404,),
)
async def permission_detail(codename: str, language: Language) -> msgspec.Raw:
    record = encoded_permissions(language).get(codename)
    if record is None:
        raise NotFound(unknown_permission_message(codename))
    return record


@get(
    "/api/v2/permissions/{codename}/effects/",
    response=EffectsRecord,
    title=Message("Effects of a permission"),
    description=Message("What assigning a permission would grant and remove, and why, without any asset."),
    tag=TAG,
    depends_on=(),
    example=_EFFECTS_EXAMPLE,
    error_statuses=(404,),
)
async def permission_effects(codename: str, query: EffectsFilters, language: Language) -> msgspec.Raw:
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


@get(
    "/api/v2/permissions/effects/",
    response=WhatIfRecord,
    title=Message("What if …"),
    description=Message(
        "What removing and assigning several permissions at once would grant and remove, and why, without any asset."
    ),
    tag=TAG,
    depends_on=(),
    example=_WHAT_IF_EXAMPLE,
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
    return what_if_record(held, frozenset(query.assign), frozenset(query.remove), query.asset_type, language)


def _too_many_errors(lists: Mapping[str, Sequence[str]]) -> dict[str, list[Message]]:
    message = PluralMessage(
        "Name at most {count} permission.", "Name at most {count} permissions.", MAX_HELD_PERMISSIONS
    )
    return {name: [message] for name, given in lists.items() if len(given) > MAX_HELD_PERMISSIONS}


OPERATIONS = (permission_list, permission_what_if, permission_detail, permission_effects)
