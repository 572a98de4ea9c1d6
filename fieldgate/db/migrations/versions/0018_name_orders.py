"""The order of names of countries and disaster types in each language."""

import sqlalchemy as sa
from alembic import op

from fieldgate.reference.name_orders import name_order_rows

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    orders = op.create_table(
        "name_orders",
        sa.Column("table_name", sa.String(20), nullable=False),
        sa.Column("language", sa.String(2), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("ids", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("table_name", "language", name="pk_name_orders"),
    )
    connection = op.get_bind()
    for name in ("countries", "disaster_types"):
        table = sa.table(
            name, sa.column("id", sa.Integer()), sa.column("names", sa.JSON()), sa.column("original_language")
        )
        found = connection.execute(sa.select(table)).mappings()
        # Computed with the code of the release that runs the migration, because others would not use the order.
        rows = [
            {key: row[key] for key in ("table_name", "language", "digest", "ids")}
            for row in name_order_rows(name, found)
        ]
        connection.execute(sa.insert(orders), rows)


def downgrade() -> None:
    op.drop_table("name_orders")
