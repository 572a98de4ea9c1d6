"""`/api/v2/permissions/`: the catalogue, read-only and open to everybody."""

import msgspec

from fieldgate.http.errors import NotFound
from fieldgate.http.language import Language, Message
from fieldgate.http.operations import detail, listing
from fieldgate.http.pagination import Page, Slice
from fieldgate.permissions.catalogue import Catalogue
from fieldgate.permissions.records import PermissionRecord

TAG = "Permissions"

_EXAMPLE = {
    "url": "http://127.0.0.1:8000/api/v2/permissions/change_asset/",
    "codename": "change_asset",
    "implied": ["http://127.0.0.1:8000/api/v2/permissions/view_asset/"],
    "contradictory": [],
    "name": "Can change asset",
}


@listing(
    "/api/v2/permissions/",
    of=PermissionRecord,
    title=Message("Permissions"),
    about=Message("All permissions that can be assigned on an asset, with what each implies and contradicts."),
    tag=TAG,
    changes_with=(),
    example=_EXAMPLE,
)
async def permission_list(page: Page, language: Language, catalogue: Catalogue) -> Slice[PermissionRecord]:
    records = catalogue.all(language)
    return Slice(len(records), records[page.offset : page.offset + page.limit])


@detail(
    "/api/v2/permissions/{codename}/",
    of=PermissionRecord,
    title=Message("Permission"),
    about=Message("One permission, with what it implies and contradicts."),
    tag=TAG,
    changes_with=(),
    example=_EXAMPLE,
    refusals=(404,),
)
async def permission_detail(codename: str, language: Language, catalogue: Catalogue) -> msgspec.Raw:
    record = catalogue.one(codename, language)
    if record is None:
        raise NotFound(Message("There is no permission {codename}.", codename=codename[:100]))
    return record


OPERATIONS = (permission_list, permission_detail)
