"""More about countries, which of them are listed, and the name that IFRC GO gives to disaster type 27."""

import csv
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

# What a downgrade deletes: queries that count it.
LOSES = {
    "countries with a profile or an overview": (
        "SELECT count(*) FROM countries WHERE CAST(overviews AS TEXT) <> '{}' OR CAST(profile AS TEXT) <> '{}'"
    ),
    "countries that are not listed, and will be": "SELECT count(*) FROM countries WHERE NOT is_listed",
}

SEEDS = Path(__file__).parent.parent / "seeds"
FLASH_FLOOD = 27
FORMER_NAME = "Flash Flood"

disaster_types = sa.table("disaster_types", sa.column("id", sa.Integer()), sa.column("names", sa.JSON()))


def upgrade() -> None:
    op.add_column("countries", sa.Column("is_listed", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("countries", sa.Column("overviews", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("countries", sa.Column("profile", sa.JSON(), nullable=False, server_default="{}"))
    connection = op.get_bind()
    is_flash_flood = disaster_types.c.id == FLASH_FLOOD
    stored = connection.execute(sa.select(disaster_types.c.names).where(is_flash_flood)).scalar()
    if stored and stored.get("en") == FORMER_NAME:  # otherwise it came from another server
        connection.execute(sa.update(disaster_types).where(is_flash_flood).values(names=_names()))
    # Responses have more fields: no client may go on using those it has.
    op.execute("UPDATE changes SET version = version + 1 WHERE topic = 'reference'")


def downgrade() -> None:
    for column in ("profile", "overviews", "is_listed"):
        op.drop_column("countries", column)
    op.execute("UPDATE changes SET version = version + 1 WHERE topic = 'reference'")


def _names() -> dict[str, str]:
    with (SEEDS / "disaster_types.csv").open(encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if int(row["id"]) == FLASH_FLOOD)
    return {language: row[language] for language in ("en", "fr", "es", "ar")}
