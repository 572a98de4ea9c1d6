"""Countries and disaster types, filled from the files in `seeds`.

The files hold facts: the ids IFRC GO uses, codes, regions. Names of countries come from CLDR, except where a file
has our own: for what CLDR does not know, or calls as nobody in this field does.
"""

import csv
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op
from babel import Locale

revision = "0004"
down_revision = "0003"

# What a downgrade deletes: queries that count it.
LOSES = {
    "countries, with what came from other servers": "SELECT count(*) FROM countries",
    "disaster types, with what came from other servers": "SELECT count(*) FROM disaster_types",
}

SEEDS = Path(__file__).parent.parent / "seeds"
LANGUAGES = ("en", "fr", "es", "ar")
NOTHING = dict.fromkeys(LANGUAGES, "")


def upgrade() -> None:
    countries = op.create_table(
        "countries",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("iso", sa.String(2)),
        sa.Column("iso3", sa.String(3)),
        sa.Column("region", sa.Integer()),
        sa.Column("record_type", sa.Integer(), nullable=False),
        sa.Column("independent", sa.Boolean()),
        sa.Column("is_deprecated", sa.Boolean(), nullable=False),
        sa.Column("fdrs", sa.Text()),
        sa.Column("average_household_size", sa.Float()),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("society_names", sa.JSON(), nullable=False),
        sa.Column("original_language", sa.String(2), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_countries"),
    )
    disaster_types = op.create_table(
        "disaster_types",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("summaries", sa.JSON(), nullable=False),
        sa.Column("original_language", sa.String(2), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_disaster_types"),
    )
    op.bulk_insert(countries, _countries())
    op.bulk_insert(disaster_types, _disaster_types())


def downgrade() -> None:
    op.drop_table("disaster_types")
    op.drop_table("countries")


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
