"""Records of a list of assets as JSON."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from msgspec import json

from fieldgate.assets.asset_lists import AssetPage
from fieldgate.assets.list_sql import ListedAsset
from fieldgate.assets.routes.deployment_fields import list_fields
from fieldgate.assets.routes.record_fields import permission_records, record_fields
from fieldgate.assets.schemas import AssetRecord
from fieldgate.assets.sharing.loading import listed_grants
from fieldgate.db import Timestamp
from fieldgate.http.response.links import encode
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller

_RECORD_COST = 15  # see `work_cost.py`
_BYTES_PER_COST = 50  # of assignments with filters, which can be large


class ListEncoder:
    """Encodes the assets of one page for its caller."""

    def __init__(
        self, page: AssetPage, caller: Caller, language: Language, children: Mapping[int, int], *, own_only: bool
    ) -> None:
        """`children` has the number of assets in each collection, by id."""
        self._page = page
        self._caller = caller
        self._language = language
        self._children = children
        self._own_only = own_only

    def cost(self, asset: ListedAsset) -> int:
        """Estimated cost of encoding an asset, in assignments of other assets."""
        return _RECORD_COST + len(asset.granted or "") // _BYTES_PER_COST

    def encode_all(self) -> list[bytes]:
        return [self.encode(asset) for asset in self._page.rows]

    def encode(self, asset: ListedAsset) -> bytes:
        grants = listed_grants(asset, self._page, self._caller)
        row = _decode(asset, self._caller)
        record = AssetRecord(
            **record_fields(row),
            **list_fields(row, self._caller, grants, self._children),
            permissions=permission_records(grants, self._caller, self._language, own_only=self._own_only),
        )
        return encode(record)


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
