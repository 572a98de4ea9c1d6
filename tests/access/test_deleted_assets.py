"""No operation finds an asset in the trash, for no caller, except the one that restores it."""

from typing import Any

import pytest

from fieldgate.app import operations
from tests.access.matrix import PRIVATE, MatrixContext, calls_of
from tests.access.permission_world import WorldAsset
from tests.conftest import StartService, nightly_only

REFUSALS = {"asset_bulk_action": 403, "ownership_invite_creation": 400}  # for some of many
RESTORES = ("asset_undeletion",)


class TrashContext(MatrixContext):
    """All assets are one that was deleted."""

    async def create_asset(self, kind: str) -> WorldAsset:
        if kind not in self._shared_assets:
            asset = self._shared_assets[kind] = await super().create_asset(kind)
            self.version = await super().version_url(asset)
            self.assignments = await super().list_assignments(asset)
            await self.world.delete(asset)
        return self._shared_assets[kind]

    async def version_url(self, asset: WorldAsset) -> str:
        return self.version

    async def list_assignments(self, asset: WorldAsset) -> list[dict[str, Any]]:
        return self.assignments

    async def add_version(self, asset: WorldAsset) -> None:
        pass


@pytest.mark.parametrize(
    "callers", [("owner",), *nightly_only(("stranger", "manager", "superuser"))], ids=len
)
async def test_no_operation_finds_a_deleted_asset(
    start: StartService, database_url: str, callers: tuple[str, ...]
) -> None:
    async with start(database_url=database_url) as service:
        context = TrashContext(service)
        await context.set_up()
        tried = 0
        for operation in operations():
            for kind, call in calls_of(operation.name).items():
                if not kind.endswith(PRIVATE) or operation.name in RESTORES:
                    continue
                found = {caller: (await call(context, caller)).status_code for caller in callers}
                expected = REFUSALS.get(operation.name, 404)
                assert found == dict.fromkeys(callers, expected), (operation.name, kind)
                tried += 1
        assert tried > 30
