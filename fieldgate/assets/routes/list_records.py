"""Records of a list of assets as JSON.

Most assets are in no collection. Their records differ in few places, so they are written with templates: the JSON of a
record with gaps, made by the same functions as all other records.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from msgspec import json

from fieldgate.accounts.tables import PUBLIC_USER_ID, PUBLIC_USERNAME
from fieldgate.assets.asset_lists import AssetPage
from fieldgate.assets.assignments import AssignmentScope
from fieldgate.assets.authorization import effective_user_id
from fieldgate.assets.list_sql import ListedAsset, StoredGrant, decode_grants
from fieldgate.assets.routes.deployment_fields import list_fields
from fieldgate.assets.routes.record_fields import permission_records, record_fields
from fieldgate.assets.schemas import AssetRecord
from fieldgate.assets.sharing.io.serializers import assignment_record
from fieldgate.assets.sharing.loading import listed_grants
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee, ListedAssignment, owner_assignment_uids
from fieldgate.db import Timestamp
from fieldgate.db.uid import UID_LENGTH
from fieldgate.http.response.links import encode, quote_path
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL

# Gaps of a template: values, which are filled with JSON, and parts of links.
_VALUES = ("name", "username", "status", "settings", "tags", "summary", "version_uid", "version_number", "created_at",
           "modified_at", "permissions", "modifier")  # fmt: skip
_LINK_PARTS = ("uid", "username", "assignment")

_PLAIN_COST, _OTHER_COST = 2, 15  # see `work_cost.py`
_MAX_SHORT_CHARS = 200  # of settings and summaries, many of which are equal
_BYTES_PER_COST = 50  # of assignments with filters, which can be large


class ListEncoder:
    """Encodes the assets of one page for its caller."""

    def __init__(
        self, page: AssetPage, caller: Caller, language: Language, children: Mapping[int, int], *, own_only: bool
    ) -> None:
        """`children` has the number of assets in each collection, by id."""
        self._page = page
        self._caller = caller
        self._user_id = effective_user_id(caller)
        self._language = language
        self._children = children
        self._own_only = own_only

    def cost(self, asset: ListedAsset) -> int:
        """Estimated cost of encoding an asset, in assignments of other assets."""
        return _PLAIN_COST if self._is_plain(asset) else _OTHER_COST + len(asset.granted or "") // _BYTES_PER_COST

    def encode_all(self) -> list[bytes]:
        return [self.encode(asset) for asset in self._page.rows]

    def encode(self, asset: ListedAsset) -> bytes:
        permissions = self._encode_permissions(asset) if self._is_plain(asset) else None
        if permissions is None:
            return self.encode_any(asset)
        username, path = _username_parts(asset.username)
        values = {
            "link uid": asset.uid.encode(),
            "link username": path,
            "name": json.encode(asset.name),
            "username": username,
            "status": json.encode(asset.status),
            "settings": _compact(asset.settings),
            "tags": b'""' if asset.tags == "[]" else json.encode(",".join(json.decode(asset.tags))),
            "summary": _compact(asset.summary),
            "version_uid": json.encode(asset.version_uid),
            "version_number": json.encode(asset.version_number),
            "created_at": json.encode(Timestamp.unpack(asset.created_at)),
            "modified_at": json.encode(Timestamp.unpack(asset.modified_at)),
            "permissions": permissions,
            "modifier": json.encode(asset.modifier),
        }
        return _record_template(asset.asset_type, bool(asset.has_xform)).fill(values)

    def encode_any(self, asset: ListedAsset) -> bytes:
        """Encode an asset of any kind, without templates."""
        grants = listed_grants(asset, self._page, self._caller)
        row = _decode(asset, self._caller)
        record = AssetRecord(
            **record_fields(row),
            **list_fields(row, self._caller, grants, self._children),
            permissions=permission_records(grants, self._caller, self._language, own_only=self._own_only),
        )
        return encode(record)

    def _is_plain(self, asset: ListedAsset) -> bool:
        """Whether nothing is inherited, and the owner and the caller can log in."""
        return (
            asset.parent_id is None
            and asset.asset_type != "collection"
            and asset.owner_disabled_at is None
            and self._page.is_active
        )

    def _encode_permissions(self, asset: ListedAsset) -> bytes | None:
        """Encode assignments in the order of `AssetGrants.list_all`. None if one of them has no template."""
        is_owner, is_user = asset.owner_id == self._user_id, self._caller.id is not None
        own = decode_grants(asset.granted) if is_user or self._own_only else []
        public = decode_grants(asset.granted_to_public) if is_user and not self._own_only else []
        if is_owner and own:  # an owner has no rows
            return None
        holders = [(self._page.username, own)] if own else []
        if public:
            holders.append((PUBLIC_USERNAME, public))
        if is_owner or not self._own_only:
            holders.append((asset.username, []))
        parts: list[bytes] = []
        for username, granted in sorted(holders, key=_holder_name):
            if not granted:
                parts.append(self._encode_owner(asset))
                continue
            if any(grant.permission == PARTIAL for grant in granted):
                return None
            parts += self._encode_granted(asset, granted, username)
        return b"[" + b",".join(parts) + b"]"

    def _encode_owner(self, asset: ListedAsset) -> bytes:
        slices, template = _owner_template(asset.asset_type, self._language)
        uids = owner_assignment_uids(asset.uid, asset.asset_type)
        values = {permission: uids[part] for permission, part in slices}
        values["link uid"] = asset.uid.encode()
        values["link username"] = _username_parts(asset.username)[1]
        return template.fill(values)

    def _encode_granted(self, asset: ListedAsset, granted: list[StoredGrant], username: str) -> list[bytes]:
        uid, path = asset.uid.encode(), _username_parts(username)[1]
        return [
            _assignment_template(grant.permission, asset.asset_type, self._language).fill(
                {"link uid": uid, "link username": path, "link assignment": grant.uid.encode()}
            )
            for grant in sorted(granted, key=_sort_key)
            if not grant.is_denied
        ]


class _Template:
    """JSON with gaps. It is filled by joining its parts: the % operator with names takes twice as long."""

    def __init__(self, marked: bytes) -> None:
        """`marked` is the result of `_mark_gaps`."""
        self._parts = marked.split(b"\0")
        self._in_order = itemgetter(*[name.decode() for name in self._parts[1::2]])

    def fill(self, values: Mapping[str, bytes]) -> bytes:
        """Fill the gaps, given values by their names."""
        parts = self._parts.copy()
        parts[1::2] = self._in_order(values)
        return b"".join(parts)


_holder_name = itemgetter(0)


def _sort_key(grant: StoredGrant) -> tuple[str, str]:
    return grant.permission, grant.uid


def _compact(stored: str) -> bytes:
    """Stored JSON as records have it."""
    return _compact_short(stored) if len(stored) <= _MAX_SHORT_CHARS else json.encode(json.decode(stored))


@lru_cache(1024)
def _compact_short(stored: str) -> bytes:
    return json.encode(json.decode(stored))


def _decode(asset: ListedAsset, caller: Caller) -> Any:
    """A row as `AssetStore.get_visible` returns it."""
    decoded = {
        "settings": json.decode(asset.settings),
        "tags": json.decode(asset.tags),
        "summary": json.decode(asset.summary),
        "created_at": Timestamp.unpack(asset.created_at),
        "modified_at": Timestamp.unpack(asset.modified_at),
        "status": asset.status,
        "parent_uid": asset.parent_uid(caller),
    }
    return SimpleNamespace(**{**asset._asdict(), **decoded})


@lru_cache(256)
def _username_parts(username: str) -> tuple[bytes, bytes]:
    """A username as JSON, and as a part of a link."""
    return json.encode(username), quote_path(username).encode()


@lru_cache(32)
def _record_template(asset_type: str, has_xform: bool) -> _Template:
    """A record of an asset in no collection."""
    row = SimpleNamespace(
        **{name: _gap(name) for name in (*_VALUES, "uid")},
        asset_type=asset_type,
        has_xform=has_xform,
        parent_uid=None,
    )
    row.tags = [_gap("tags")]
    fields: dict[str, Any] = {**record_fields(row), **list_fields(row, Caller(), None, {})}
    record = AssetRecord(**fields, permissions=_gap("permissions"))  # type: ignore[arg-type]
    return _Template(_mark_gaps(encode(record)))


@lru_cache(512)
def _assignment_template(permission: str, asset_type: str, language: Language) -> _Template:
    return _Template(_marked_assignment(permission, asset_type, language))


def _marked_assignment(permission: str, asset_type: str, language: Language) -> bytes:
    holder = Grantee(PUBLIC_USER_ID, _gap("username"))
    scope = AssignmentScope(asset_type=asset_type, owner_id=holder.id, direct={})
    grants = AssetGrants(id=0, uid=_gap("uid"), scope=scope, grantees_by_id={})
    listed = ListedAssignment(_gap("assignment"), holder, permission)
    return _mark_gaps(encode(assignment_record(grants, listed, language)))


@lru_cache(128)
def _owner_template(asset_type: str, language: Language) -> tuple[Sequence[tuple[str, slice]], _Template]:
    """The place of each permission in `owner_assignment_uids`, and a template with their uids under these names."""
    slices, parts = [], []
    for number, permission in enumerate(sorted(rules.owner_permissions(asset_type))):
        slices.append((permission, slice(number * UID_LENGTH, (number + 1) * UID_LENGTH)))
        marked = _marked_assignment(permission, asset_type, language)
        parts.append(marked.replace(b"\0link assignment\0", b"\0%b\0" % permission.encode()))
    return slices, _Template(b",".join(parts))


def _gap(name: str) -> str:
    return f"gap-{name}-"


def _mark_gaps(encoded: bytes) -> bytes:
    """Replace gaps by their names between zero bytes, which no JSON contains."""
    for name in _VALUES:
        encoded = encoded.replace(json.encode(_gap(name)), b"\0%b\0" % name.encode())
    for name in _LINK_PARTS:
        encoded = encoded.replace(_gap(name).encode(), b"\0link %b\0" % name.encode())
    return encoded
