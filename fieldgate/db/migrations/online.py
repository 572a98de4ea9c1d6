"""Changes of large tables that let others read and write meanwhile."""

from collections.abc import Sequence
from typing import Any

from alembic import op


def create_index_concurrently(name: str, table: str, columns: Sequence[str], **options: Any) -> None:
    """Create an index without blocking writers. What the revision did before is committed first.

    An attempt that was interrupted leaves an invalid index behind, which is dropped.
    """
    if op.get_bind().dialect.name != "postgresql":
        op.create_index(name, table, list(columns), **options)
        return
    with op.get_context().autocommit_block():
        op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
        op.create_index(name, table, list(columns), postgresql_concurrently=True, **options)
