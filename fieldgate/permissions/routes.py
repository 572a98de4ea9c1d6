"""`/api/v2/permissions/`: the catalogue and the effects of assigning; read-only, no login needed."""

import msgspec

from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.operations import get, get_list
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME
from fieldgate.permissions.rules import Codenames
from fieldgate.permissions.schemas import EffectsFilters, EffectsRecord, PermissionRecord
from fieldgate.permissions.serializers import Catalogue, effects_record
from fieldgate.permissions.violations import contradiction_message, not_for_type_message

TAG = "Permissions"
MAX_HELD_PERMISSIONS = 20  # names; there are half as many permissions

_EXAMPLE = {
    "url": "http://127.0.0.1:8000/api/v2/permissions/change_asset/",
    "codename": "change_asset",
    "implied": ["http://127.0.0.1:8000/api/v2/permissions/view_asset/"],
    "contradictory": [],
    "name": "Can change asset",
}
_EFFECTS_EXAMPLE = {
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
        },
        {
            "permission": "http://127.0.0.1:8000/api/v2/permissions/partial_submissions/",
            "effect": "removed",
            "reason": "contradicted",
            "because": "http://127.0.0.1:8000/api/v2/permissions/view_submissions/",
            "message": "partial_submissions: removed, contradicted by view_submissions.",
        },
    ],
    "result": [
        "http://127.0.0.1:8000/api/v2/permissions/view_asset/",
        "http://127.0.0.1:8000/api/v2/permissions/view_submissions/",
    ],
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
async def permission_list(page: PageRequest, language: Language, catalogue: Catalogue) -> ListResult[PermissionRecord]:
    records = catalogue.all(language)
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
async def permission_detail(codename: str, language: Language, catalogue: Catalogue) -> msgspec.Raw:
    record = catalogue.get(codename, language)
    if record is None:
        raise NotFound(_unknown_permission_message(codename))
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
        raise NotFound(_unknown_permission_message(codename))
    if len(query.held) > MAX_HELD_PERMISSIONS:
        raise ValidationError(
            {
                "held": [
                    PluralMessage(
                        "Name at most {count} permission.", "Name at most {count} permissions.", MAX_HELD_PERMISSIONS
                    )
                ]
            }
        )
    wrong: dict[str, list[Message]] = {}
    if codename not in rules.assignable(query.asset_type):
        wrong["asset_type"] = [not_for_type_message(codename)]
    if errors := _held_errors(frozenset(query.held), query.asset_type):
        wrong["held"] = errors
    if wrong:
        raise ValidationError(wrong)
    held = rules.with_implied(query.held, query.asset_type)
    return effects_record(codename, held, query.asset_type, language)


def _held_errors(held: Codenames, asset_type: str) -> list[Message]:
    """Return why these permissions cannot be held together."""
    unknown = sorted(held - BY_CODENAME.keys())
    misplaced = sorted((held & BY_CODENAME.keys()) - rules.assignable(asset_type))
    pair = rules.find_contradiction(held & BY_CODENAME.keys(), asset_type)
    return [
        *map(_unknown_permission_message, unknown),
        *map(not_for_type_message, misplaced),
        *([contradiction_message(*pair)] if pair else []),
    ]


def _unknown_permission_message(codename: str) -> Message:
    return Message("There is no permission {codename}.", codename=codename[:100])


OPERATIONS = (permission_list, permission_detail, permission_effects)
