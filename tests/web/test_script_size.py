"""Pages load little JavaScript: they must work on a bad connection."""

from pathlib import Path

STATIC = Path(__file__).parents[2] / "fieldgate" / "web" / "static"
MAX_BYTES = 10_000


def test_all_scripts_together_are_small() -> None:
    parts = sorted(STATIC.rglob("*.js"))
    assert parts
    assert sum(len(part.read_bytes()) for part in parts) < MAX_BYTES
