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
        # An order that this computes differently one day has another digest and is not used.
        connection.execute(sa.insert(orders), name_order_rows(name, found))


def downgrade() -> None:
    op.drop_table("name_orders")
