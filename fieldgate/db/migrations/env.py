"""Entry point for Alembic. Runs the revisions on the connection that `migrations/__init__.py` passes."""

from alembic import context
from sqlalchemy import event
from sqlalchemy.engine import Connection

connection: Connection = context.config.attributes["connection"]
is_postgresql = connection.dialect.name == "postgresql"


def limit_lock_waits(begun: Connection) -> None:
    begun.exec_driver_sql(f"SET LOCAL lock_timeout = '{context.config.attributes['lock_timeout']}'")


if is_postgresql and "lock_timeout" in context.config.attributes:
    event.listen(connection, "begin", limit_lock_waits)
context.configure(connection=connection, transactional_ddl=True, transaction_per_migration=is_postgresql)
with context.begin_transaction():
    context.run_migrations()
