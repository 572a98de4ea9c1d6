"""The whole schema: the tables that the code declares, with countries, disaster types, and the public as a user.

Until 0.1 the tables are stated once, in the files `tables.py`. The revision has a digest of these files and of this
one, so that a database with another schema is noticed. With 0.1, the tables are written out here, and stay as they are.

The files in `seeds` hold facts: the ids IFRC GO uses, codes, regions. Names of countries come from CLDR, except where a
file has our own: for what CLDR does not know, or calls as nobody in this field does.
"""

import csv
import secrets
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op
from babel import Locale

import fieldgate.accounts.tables
import fieldgate.assets.tables
import fieldgate.events.tables
import fieldgate.imports.tables
import fieldgate.move.tables  # noqa: F401  (they register their tables)
from fieldgate.db.schema import REQUIRED_REVISION
from fieldgate.db.tables import metadata, topic_versions
from fieldgate.reference.tables import countries, disaster_types

revision = REQUIRED_REVISION
down_revision = None

# Indexes of some rows only. In the tables, these conditions would load the dialect of PostgreSQL into every process.
PARTIAL_INDEXES = {
    "ix_assets_parent_id": "parent_id IS NOT NULL",
    "ix_assets_deleted_at": "deleted_at IS NOT NULL",
    "ix_assignments_expires_at": "expires_at IS NOT NULL",
    "ix_imports_user_id_id_lease_until": "status = 'processing'",
}
THE_PUBLIC = -1
SEEDS = Path(__file__).parent.parent / "seeds"
LANGUAGES = ("en", "fr", "es", "ar")
NOTHING = dict.fromkeys(LANGUAGES, "")


def upgrade() -> None:
    connection = op.get_bind()
    indexes = {str(index.name): index for table in metadata.tables.values() for index in table.indexes}
    for name, condition in PARTIAL_INDEXES.items():
        indexes[name].dialect_kwargs[f"{connection.dialect.name}_where"] = sa.text(condition)
    metadata.create_all(connection, checkfirst=False)
    # Writers of events lock the first row; the second one identifies the database.
    versions = [{"topic": "events", "version": 0}, {"topic": "identity", "version": secrets.randbits(62)}]
    op.bulk_insert(topic_versions, versions)
    op.execute(
        sa.text(
            "INSERT INTO users (id, uid, username, username_key, password_hash, first_name, last_name, is_superuser, "
            "is_ifrc, is_demo, countries, created_at) VALUES (:id, 'uAnonymousUser', "
            "'AnonymousUser', 'anonymoususer', '', '', '', false, false, false, '[]', 0)"
        ).bindparams(id=THE_PUBLIC)
    )
    op.bulk_insert(countries, _countries())
    op.bulk_insert(disaster_types, _disaster_types())


def _countries() -> list[dict[str, Any]]:
    territories = {language: Locale(language).territories for language in LANGUAGES}
    return [
        {
            "id": int(row["id"]),
            "iso": row["iso"] or None,
            "iso3": row["iso3"] or None,
            "region": int(row["region"]) if row["region"] else None,
            "record_type": int(row["record_type"]),
            "independent": row["independent"] == "true" if row["independent"] else None,
            "is_deprecated": row["is_deprecated"] == "true",
            "fdrs": row["fdrs"] or None,
            "average_household_size": None,
            "names": {language: row[language] or territories[language][row["iso"]] for language in LANGUAGES},
            "society_names": NOTHING,
            "original_language": "en",
            "is_listed": True,
            "overviews": {},
            "profile": {},
        }
        for row in _rows("countries.csv")
    ]


def _disaster_types() -> list[dict[str, Any]]:
    return [
        {
            "id": int(row["id"]),
            "names": {language: row[language] for language in LANGUAGES},
            "summaries": NOTHING,
            "original_language": "en",
        }
        for row in _rows("disaster_types.csv")
    ]


def _rows(name: str) -> list[dict[str, str]]:
    with (SEEDS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
