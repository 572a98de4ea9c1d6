"""The source of a next release, derived from this one: another migration, a raised format of events, a new filter.

environment = create_next_release(folder)
run_command("migrate", data=…, environment=environment)

It is a copy of the package that programs find first (PYTHONPATH), so that all processes run the newer code.
"""

import shutil
from pathlib import Path

import fieldgate
from fieldgate.db.schema import COMPATIBLE_SINCE, REQUIRED_REVISION
from fieldgate.events.derived import EVENT_FORMAT

NEXT_REVISION = f"{int(REQUIRED_REVISION) + 1:04}"
NEXT_FORMAT = EVENT_FORMAT + 1
NEW_FILTER = "report_count"

MIGRATION = f'''
import sqlalchemy as sa
from alembic import op

from fieldgate.db.migrations.online import create_index_concurrently

revision = "{NEXT_REVISION}"
down_revision = "{REQUIRED_REVISION}"


def upgrade() -> None:
    op.add_column("events", sa.Column("note", sa.Text(), nullable=False, server_default=""))
    op.add_column("users", sa.Column("phone", sa.String(40)))
    op.create_table("visits", sa.Column("id", sa.Integer(), primary_key=True))
    create_index_concurrently("ix_events_note", "events", ["note"])


def downgrade() -> None:
    op.drop_index("ix_events_note", "events")
    op.drop_table("visits")
    op.drop_column("users", "phone")
    op.drop_column("events", "note")
'''
FACET = f"""
REPORT_COUNT = register_facet(
    Facet("report_count", "r", lambda event: (len(event.field_reports),), since={NEXT_FORMAT})
)
"""
FILTER_FIELD = "    report_count: Annotated[int, Meta(description='Number of field reports.')] | None = None\n"

# Edits of files: a text and what replaces it. Each text must be there once.
EDITS = {
    "__init__.py": [(f'"{fieldgate.__version__}"', '"99.0.0"')],
    "db/schema.py": [
        (f'REQUIRED_REVISION = "{REQUIRED_REVISION}"', f'REQUIRED_REVISION = "{NEXT_REVISION}"'),
        (f'COMPATIBLE_SINCE = "{COMPATIBLE_SINCE}"', f'COMPATIBLE_SINCE = "{REQUIRED_REVISION}"'),
    ],
    "db/rebuild.py": [("WATCH_SECONDS = 30.0", "WATCH_SECONDS = 0.2"), ("RETRY_SECONDS = 5.0", "RETRY_SECONDS = 0.2")],
    "events/derived.py": [(f"EVENT_FORMAT = {EVENT_FORMAT}", f"EVENT_FORMAT = {NEXT_FORMAT}")],
    "events/facets.py": [("\n\ndef source_value(", f"{FACET}\n\ndef source_value(")],
    "events/search/filters.py": [
        ("    dtype: Annotated[int,", f"{FILTER_FIELD}    dtype: Annotated[int,"),
        (
            '    "dtype": equal_to(DISASTER_TYPE),',
            '    "report_count": equal_to(FACETS["report_count"]),\n    "dtype": equal_to(DISASTER_TYPE),',
        ),
        ("from fieldgate.events.facets import (", "from fieldgate.events.facets import (\n    FACETS,"),
    ],
}


def create_next_release(folder: Path) -> dict[str, str]:
    """Write the source, and return the environment in which commands are those of the next release."""
    package = folder / "fieldgate"
    shutil.copytree(Path(fieldgate.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, edits in EDITS.items():
        file = package / name
        text = file.read_text()
        for old, new in edits:
            assert text.count(old) == 1, f"{name}: {old}"
            text = text.replace(old, new)
        file.write_text(text)
    (package / "db" / "migrations" / "versions" / f"{NEXT_REVISION}_next.py").write_text(MIGRATION)
    return {"PYTHONPATH": str(folder)}
