"""Entry point for Alembic. Runs the revisions on the connection that `upgrade_to_head` passes."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
