"""Entry point for Alembic. Runs the revisions on the connection that `migrations/__init__.py` passes."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
