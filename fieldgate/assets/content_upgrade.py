"""Rewrite stored form content in the current format.

Reading does not depend on it: `AssetStore.content` upgrades older content on the fly. Rewriting saves that work, and
lets an operator see when no old content is left.
"""

import asyncio
import logging
from collections.abc import Sequence

from sqlalchemy import select

from fieldgate.assets.content_format import FIRST_FORMAT, STEPS, Step, upgrade_content
from fieldgate.assets.tables import versions
from fieldgate.db import Database, is_unavailable

BATCH_SIZE = 1000  # ids; contents are loaded one at a time, since one can have megabytes

log = logging.getLogger(__name__)


class ContentUpgrader:
    """Upgrades one version per transaction. It can be stopped at any time, and several processes can run it."""

    def __init__(self, database: Database, steps: Sequence[Step] = STEPS) -> None:
        self._database = database
        self._steps = steps
        self._format = FIRST_FORMAT + len(steps)

    async def run(self, stopping: asyncio.Event) -> int:
        """Upgrade every outdated version until `stopping` is set, and return how many were upgraded.

        A version that fails is logged and left as it is.
        """
        upgraded = last_id = 0
        # Without steps all content is in the first format: there is nothing to look for.
        while self._steps and (ids := await self._outdated_ids(last_id)):
            for version_id in ids:
                if stopping.is_set():
                    return upgraded
                upgraded += await self._try_upgrade(version_id)
            last_id = ids[-1]
        if upgraded:
            log.info("upgraded the content of %d versions to format %d", upgraded, self._format)
        return upgraded

    async def _outdated_ids(self, after: int) -> Sequence[int]:
        query = select(versions.c.id).where(versions.c.content_format < self._format, versions.c.id > after)
        async with self._database.read_transaction() as connection:
            return (await connection.execute(query.order_by(versions.c.id).limit(BATCH_SIZE))).scalars().all()

    async def _try_upgrade(self, version_id: int) -> bool:
        try:
            return await self._upgrade(version_id)
        except Exception as error:
            if is_unavailable(error):
                raise
            log.exception("the content of version %d could not be upgraded", version_id)
            return False

    async def _upgrade(self, version_id: int) -> bool:
        stored = select(versions.c.content, versions.c.content_format).where(
            versions.c.id == version_id, versions.c.content_format < self._format
        )
        async with self._database.transaction() as connection:
            row = (await connection.execute(stored.with_for_update())).one_or_none()
            if row is None:  # deleted, or upgraded by another process
                return False
            content = upgrade_content(row.content, row.content_format, self._steps)
            # Responses stay the same, so caches need not be invalidated.
            await connection.execute(
                versions.update()
                .where(versions.c.id == version_id)
                .values(content=content, content_format=self._format)
            )
            return True
