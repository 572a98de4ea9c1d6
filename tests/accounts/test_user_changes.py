"""Changing accounts: an active superuser always stays, whatever happens at the same time."""

import asyncio

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import select

from fieldgate.accounts.schemas import UserChanges
from fieldgate.accounts.store import AccountStore, NewUser
from fieldgate.accounts.tables import users
from fieldgate.accounts.user_changes import UserEditor, check_change
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.errors import Conflict, Forbidden
from fieldgate.identity import User

USER_IDS = range(1, 5)


@given(
    st.frozensets(st.sampled_from(USER_IDS), min_size=1),
    st.lists(
        st.tuples(
            st.sampled_from(USER_IDS),
            st.sampled_from(("is_active", "is_superuser")),
            st.booleans(),
            st.sampled_from((*USER_IDS, None)),
        ),
        max_size=30,
    ),
)
@example(frozenset({1}), [(1, "is_active", False, None)])
def test_some_superuser_stays_active(
    active: frozenset[int], attempts: list[tuple[int, str, bool, int | None]]
) -> None:
    """Superusers, and the operator, disable and enable users, and take and give the right, in any order."""
    for user_id, field, value, by in attempts:
        changes = msgspec.structs.replace(UserChanges(), **{field: value})
        try:
            check_change(user_id, changes, by=by, active_superusers=active)
        except Forbidden:
            assert by not in active
        except Conflict:
            assert not value
            assert user_id == by or active == {user_id}
        else:
            assert by is None or by in active
            active = active | {user_id} if value else active - {user_id}
        assert active


async def create_superusers(store: AccountStore, count: int) -> list[int]:
    new = [
        NewUser(username=f"root{number}", password_hash="x", is_superuser=True)
        for number in range(count)
    ]
    return [await store.create_user(each) for each in new]


@pytest.mark.parametrize("change", [UserChanges(is_active=False), UserChanges(is_superuser=False)])
async def test_superusers_who_disable_each_other_at_once(
    database: AsyncDatabase, change: UserChanges
) -> None:
    versions = DataVersions(database)
    store, editor = AccountStore(database, versions), UserEditor(database, versions)
    ids = await create_superusers(store, 4)
    pairs = [(user_id, by) for by in ids for user_id in ids if user_id != by]
    results = await asyncio.gather(
        *(editor.change(user_id, change, by=User(id=by)) for user_id, by in pairs),
        return_exceptions=True,
    )
    assert any(isinstance(result, Forbidden) for result in results)
    assert [
        result for result in results if result is not None and not isinstance(result, Forbidden)
    ] == []
    async with database.read_transaction() as connection:
        active = select(users.c.id).where(users.c.is_superuser, users.c.disabled_at.is_(None))
        assert len((await connection.execute(active)).all()) == 1
