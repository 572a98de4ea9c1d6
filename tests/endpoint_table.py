"""The table of endpoints in `docs/guide.md`, from the operations of the service.

make permission-matrix    rewrites it
"""

import re
from pathlib import Path

from fieldgate.app import operations

GUIDE = Path(__file__).parent.parent / "docs" / "guide.md"
_TABLE = re.compile(r"(?<=<!-- endpoints: begin -->\n).*?(?=<!-- endpoints: end -->)", re.DOTALL)


def with_endpoints(document: str) -> str:
    """Return the document with the table as it should be."""
    titles: dict[str, list[str]] = {}
    for operation in operations():
        if operation.description.in_schema:
            title = f"{operation.route.method}: {operation.description.title.text}"
            titles.setdefault(operation.route.path, []).append(title)
    rows = "".join(f"| `{path}` | {', '.join(cells)} |\n" for path, cells in titles.items())
    return _TABLE.sub(lambda _: f"| path | operations |\n|---|---|\n{rows}", document)


if __name__ == "__main__":
    GUIDE.write_text(with_endpoints(GUIDE.read_text()))
