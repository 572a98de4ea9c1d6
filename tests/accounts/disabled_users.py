"""Accounts that tests disable, as `fieldgate user disable` does."""

from fieldgate.accounts.schemas import UserChanges
from fieldgate.accounts.store import AccountStore
from fieldgate.accounts.user_changes import UserEditor


async def disable_user(store: AccountStore, username: str) -> None:
    row = await store.find_any(username)
    assert row is not None
    await UserEditor(store._database, store._data_versions).change(
        row.id, UserChanges(is_active=False)
    )
