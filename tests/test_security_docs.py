"""`docs/security.md` names a test for every control; these tests exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "security.md").read_text()
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ASVS_CHAPTERS = range(1, 15)


def _rows(heading: str) -> list[list[str]]:
    section = TEXT.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def _functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_named_test_exists() -> None:
    references = REFERENCE.findall(TEXT)
    assert len(references) >= 40
    missing = [f"{file}::{name}" for file, name in references if name not in _functions(file)]
    assert missing == []


def test_every_risk_has_a_control_and_a_test() -> None:
    rows = _rows("OWASP API Security Top 10 (2023)") + _rows("OWASP ASVS, level 2")
    assert rows
    for risk, control, tests in rows:
        assert control, risk
        assert REFERENCE.search(tests), risk
    risks = {re.split(r"[ ,]", row[0])[0] for row in rows}
    assert risks >= {f"API{number}" for number in range(1, 11)} | {
        f"V{number}" for number in ASVS_CHAPTERS
    }
