"""Records of a list of assets as JSON.

Most assets are in no collection. Their records differ in few places, so they are written with templates: the JSON of a
record with gaps, made by the same functions as all other records.
"""

import struct
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

# Gaps of the template of a record, in the order in which values are given; the uids of the owner's assignments follow.
# Values are JSON, except parts of links. `earlier` and `later` are assignments of others, before and after the owner's.
_LINK_PARTS = ("link uid", "link username")
_VALUES = ("name", "username", "status", "settings", "tags", "summary", "version_uid", "version_number", "created_at",
           "modified_at", "modifier")  # fmt: skip
_RECORD_GAPS = (*_LINK_PARTS, *_VALUES, "earlier", "later")
_ASSIGNMENT_GAPS = (*_LINK_PARTS, "link assignment")

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
        others = self._encode_others(asset) if self._is_plain(asset) else None
        if others is None:
            return self.encode_any(asset)
        with_owner = self._shows_owner(asset)
        unpack_uids = _owner_uids(asset.asset_type).unpack
        username, path = _username_parts(asset.username)
        values = (
            asset.uid.encode(),
            path,
            json.encode(asset.name),
            username,
            json.encode(asset.status),
            _compact(asset.settings),
            b'""' if asset.tags == "[]" else json.encode(",".join(json.decode(asset.tags))),
            _compact(asset.summary),
            json.encode(asset.version_uid),
            json.encode(asset.version_number),
            json.encode(Timestamp.unpack(asset.created_at)),
            json.encode(Timestamp.unpack(asset.modified_at)),
            json.encode(asset.modifier),
            *others,
            *(unpack_uids(owner_assignment_uids(asset.uid, asset.asset_type)) if with_owner else ()),
        )
        return _record_template(asset.asset_type, bool(asset.has_xform), with_owner, self._language).fill(values)

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

    def _shows_owner(self, asset: ListedAsset) -> bool:
        """Whether the record has the assignments of the owner."""
        return not self._own_only or asset.owner_id == self._user_id

    def _encode_others(self, asset: ListedAsset) -> tuple[bytes, bytes] | None:
        """Encode assignments of others than the owner, in the order of `AssetGrants.list_all`: those before the
        owner's, and those after them. None if one of them has no template."""
        is_user = self._caller.id is not None
        own = decode_grants(asset.granted) if is_user or self._own_only else []
        public = decode_grants(asset.granted_to_public) if is_user and not self._own_only else []
        if own and asset.owner_id == self._user_id:  # an owner has no rows
            return None
        earlier: list[bytes] = []
        later: list[bytes] = []
        holders = [(self._page.username, own), (PUBLIC_USERNAME, public)]
        for holder, granted in sorted(holders, key=_holder_name):
            for grant in sorted(granted, key=_sort_key):
                if grant.permission == PARTIAL:
                    return None
                if not grant.is_denied:
                    encoded = self._encode_granted(asset, grant, holder)
                    (earlier if holder < asset.username else later).append(encoded)
        if not self._shows_owner(asset):
            return b",".join(earlier + later), b""
        return b"".join([each + b"," for each in earlier]), b"".join([b"," + each for each in later])

    def _encode_granted(self, asset: ListedAsset, grant: StoredGrant, username: str) -> bytes:
        template = _assignment_template(grant.permission, asset.asset_type, self._language)
        return template.fill((asset.uid.encode(), _username_parts(username)[1], grant.uid.encode()))


class _Template:
    """JSON with gaps. It is filled by joining its parts: the % operator with names takes twice as long."""

    def __init__(self, marked: bytes, names: Sequence[str]) -> None:
        """`marked` is the result of `_mark_gaps`; `names` tells the order in which values are given."""
        self._parts = marked.split(b"\0")
        self._select = itemgetter(*[names.index(name.decode()) for name in self._parts[1::2]])

    def fill(self, values: Sequence[bytes]) -> bytes:
        parts = self._parts.copy()
        parts[1::2] = self._select(values)
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


@lru_cache(128)
def _record_template(asset_type: str, has_xform: bool, with_owner: bool, language: Language) -> _Template:
    """A record of an asset in no collection."""
    row = SimpleNamespace(
        **{name: _gap(name) for name in (*_VALUES, "uid")},
        asset_type=asset_type,
        has_xform=has_xform,
        parent_uid=None,
    )
    row.tags = [_gap("tags")]
    fields: dict[str, Any] = {**record_fields(row), **list_fields(row, Caller(), None, {})}
    marked = _mark_gaps(encode(AssetRecord(**fields, permissions=_gap("permissions"))))  # type: ignore[arg-type]
    permissions = _owner_permissions(asset_type) if with_owner else []
    owned = [
        _marked_assignment(each, asset_type, language).replace(b"\0link assignment\0", b"\0%b\0" % each.encode())
        for each in permissions
    ]
    assignments = b"[\0earlier\0" + b",".join(owned) + b"\0later\0]"
    names = (*_RECORD_GAPS, *permissions)
    return _Template(marked.replace(json.encode(_gap("permissions")), assignments), names)


@lru_cache(32)
def _owner_uids(asset_type: str) -> struct.Struct:
    """The format of `owner_assignment_uids`."""
    return struct.Struct(f"{UID_LENGTH}s" * len(_owner_permissions(asset_type)))


def _owner_permissions(asset_type: str) -> list[str]:
    return sorted(rules.owner_permissions(asset_type))


@lru_cache(512)
def _assignment_template(permission: str, asset_type: str, language: Language) -> _Template:
    return _Template(_marked_assignment(permission, asset_type, language), _ASSIGNMENT_GAPS)


def _marked_assignment(permission: str, asset_type: str, language: Language) -> bytes:
    holder = Grantee(PUBLIC_USER_ID, _gap("username"))
    scope = AssignmentScope(asset_type=asset_type, owner_id=holder.id, direct={})
    grants = AssetGrants(id=0, uid=_gap("uid"), scope=scope, grantees_by_id={})
    listed = ListedAssignment(_gap("assignment"), holder, permission)
    return _mark_gaps(encode(assignment_record(grants, listed, language)))


def _gap(name: str) -> str:
    return f"gap-{name}-"


def _mark_gaps(encoded: bytes) -> bytes:
    """Replace gaps by their names between zero bytes, which no JSON contains."""
    for name in _VALUES:
        encoded = encoded.replace(json.encode(_gap(name)), b"\0%b\0" % name.encode())
    for name in _ASSIGNMENT_GAPS:
        gap = _gap(name.removeprefix("link "))
        encoded = encoded.replace(gap.encode(), b"\0%b\0" % name.encode())
    return encoded
