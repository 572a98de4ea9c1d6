"""Serialize users: for everybody, and with more fields for superusers."""

from typing import Any

from sqlalchemy import Row

from fieldgate.accounts.schemas import FullUserRecord, UserRecord, user_path
from fieldgate.http.response.links import Link

USER_EXAMPLE: dict[str, Any] = {
    "url": "http://127.0.0.1:8000/api/v2/users/amina/",
    "username": "amina",
    "date_joined": "2026-11-15T08:30:00Z",
    "public_collection_subscribers_count": 0,
    "public_collections_count": 2,
}
FULL_USER_EXAMPLE: dict[str, Any] = {
    **USER_EXAMPLE,
    "first_name": "Amina",
    "last_name": "Diallo",
    "is_active": True,
    "is_superuser": False,
    "is_ifrc": False,
    "countries": ["KEN"],
    "last_login": "2026-11-15T08:30:00Z",
    "invitation_expires": None,
}


def user_record(row: Row[Any], public_collections: int = 0) -> UserRecord:
    return UserRecord(
        url=Link(user_path(row.username)),
        username=row.username,
        date_joined=row.created_at,
        public_collections_count=public_collections,
    )


def full_user_record(row: Row[Any], public_collections: int = 0) -> FullUserRecord:
    return FullUserRecord(
        url=Link(user_path(row.username)),
        username=row.username,
        date_joined=row.created_at,
        public_collections_count=public_collections,
        first_name=row.first_name,
        last_name=row.last_name,
        is_active=row.disabled_at is None,
        is_superuser=row.is_superuser,
        is_ifrc=row.is_ifrc,
        countries=row.countries,
        last_login=row.last_login_at,
        invitation_expires=row.invitation_expires_at,
    )
