"""Deploy a version of a survey: say which one people should use. Archiving says that they should use none.

Only the newest version can be deployed, so the deployed one is the last of those that ever were.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.assets.asset_log import asset_entry
from fieldgate.assets.authorization import authorize_row
from fieldgate.assets.schemas import DeploymentBody
from fieldgate.assets.store import TOPIC, AssetStore
from fieldgate.assets.tables import SURVEY, assets, is_live, versions
from fieldgate.db import AsyncDatabase, DataVersions, now
from fieldgate.db.log import write_log
from fieldgate.errors import BadRequest, Forbidden, NotFound, Problem, ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.identity import User

_NO_QUESTIONS = Message("This form has no questions yet, so it cannot be deployed.")
_NOT_ALL_MANAGED = Message("One of these is not a survey that you manage. Nothing was changed.")


class WrongDeploymentMethod(Problem):
    """The first deployment is a POST, later ones are a PATCH."""

    status = 405


class Deployments:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        self._store = AssetStore(database, data_versions)

    async def create(self, user: User, uid: str, body: DeploymentBody) -> None:
        """Deploy the newest version for the first time."""
        async with self._database.transaction() as connection:
            asset = await self._lock(connection, user, uid)
            if asset.deployment_active is not None:
                raise WrongDeploymentMethod(
                    Message("A version is deployed already. Use PATCH to deploy another one.")
                )
            await self._deploy(
                connection, user, asset, body.version_id, active=body.active is not False
            )

    async def deploy_newest(
        self, connection: AsyncConnection, user: User, uid: str, *, active: bool
    ) -> None:
        """Deploy the newest version in a transaction of the caller, whatever was deployed before."""
        await self._deploy(
            connection, user, await self._lock(connection, user, uid), None, active=active
        )

    async def change(self, user: User, uid: str, body: DeploymentBody) -> None:
        """Deploy the newest version, or only set `active` if nothing else is given."""
        async with self._database.transaction() as connection:
            asset = await self._lock(connection, user, uid)
            if asset.deployment_active is None:
                raise WrongDeploymentMethod(
                    Message("No version was deployed yet. Use POST to deploy the newest one.")
                )
            if body.active is not None and body.version_id is None:
                await self._set_active(connection, user, [asset], active=body.active)
                return
            active = asset.deployment_active if body.active is None else body.active
            await self._deploy(connection, user, asset, body.version_id, active=active)

    async def set_active(self, user: User, uids: Sequence[str] | None, *, active: bool) -> int:
        """Archive surveys, or undo that; without `uids`, all that the user owns. Return their number."""
        is_meant = assets.c.owner_id == user.id if uids is None else assets.c.uid.in_(uids)
        # In one order, and without collections, to avoid deadlocks.
        is_meant = and_(is_meant, is_live(), assets.c.asset_type == SURVEY)
        query = select(assets).where(is_meant).order_by(assets.c.id).with_for_update()
        async with self._database.transaction() as connection:
            found = (await connection.execute(query)).all()
            if uids is None:
                found = [row for row in found if row.deployment_active is not None]
            else:
                await self._check_managed(connection, user, found, len(set(uids)))
            await self._set_active(connection, user, found, active=active)
            return len(found)

    async def _check_managed(
        self, connection: AsyncConnection, user: User, found: Sequence[Row[Any]], expected: int
    ) -> None:
        if len(found) < expected:
            raise Forbidden(_NOT_ALL_MANAGED)
        for row in found:
            try:
                may_manage = (await authorize_row(connection, row, user)).may_manage
            except NotFound:
                may_manage = False
            if not may_manage:
                raise Forbidden(_NOT_ALL_MANAGED)
        if drafts := [row.name for row in found if row.deployment_active is None]:
            message = Message("“{name}” was never deployed. Nothing was changed.", name=drafts[0])
            raise ValidationError({"payload": [message]})

    async def _lock(self, connection: AsyncConnection, user: User, uid: str) -> Row[Any]:
        asset = await self._store.lock_to_change(connection, uid, user)
        if asset.asset_type != SURVEY:
            raise BadRequest(Message("Only surveys can be deployed."))
        return asset

    async def _deploy(
        self,
        connection: AsyncConnection,
        user: User,
        asset: Row[Any],
        version_uid: str | None,
        *,
        active: bool,
    ) -> None:
        columns = (versions.c.id, versions.c.uid, versions.c.xform.is_not(None).label("has_xform"))
        newest = (
            select(*columns)
            .where(versions.c.asset_id == asset.id)
            .order_by(versions.c.number.desc())
            .limit(1)
        )
        version = (await connection.execute(newest)).one()
        if version_uid is not None and version_uid != version.uid:
            message = Message("Only the newest version can be deployed: {uid}.", uid=version.uid)
            raise ValidationError({"version_id": [message]})
        if not version.has_xform:
            raise BadRequest(_NO_QUESTIONS)
        deployed_at = now()
        await connection.execute(
            versions.update().where(versions.c.id == version.id).values(deployed_at=deployed_at)
        )
        await self._update(
            connection,
            user,
            [asset.id],
            deployed_version_uid=version.uid,
            deployed_at=deployed_at,
            deployment_active=active,
        )
        action = "deploy" if asset.deployment_active is None else "redeploy"
        await write_log(connection, user, asset_entry(action, asset, version_uid=version.uid))

    async def _set_active(
        self, connection: AsyncConnection, user: User, found: Sequence[Row[Any]], *, active: bool
    ) -> None:
        await self._update(connection, user, [row.id for row in found], deployment_active=active)
        action = "unarchive" if active else "archive"
        changed = [row for row in found if row.deployment_active is not active]
        await write_log(connection, user, *(asset_entry(action, row) for row in changed))

    async def _update(
        self, connection: AsyncConnection, user: User, asset_ids: Sequence[int], **values: Any
    ) -> None:
        changed = assets.update().where(assets.c.id.in_(asset_ids))
        await connection.execute(changed.values(modified_at=now(), modified_by=user.id, **values))
        await self._data_versions.bump(connection, TOPIC)
