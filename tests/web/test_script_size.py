"""Pages load little JavaScript: they must work on a bad connection."""

from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "fieldgate" / "web" / "static" / "scripts"
MAX_BYTES = 10 * 1024


def test_all_scripts_together_are_small() -> None:
    parts = sorted(SCRIPTS.glob("*.js"))
    assert parts
    assert sum(len(part.read_bytes()) for part in parts) < MAX_BYTES
