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
    titles: dict[str, str] = {}
    methods: dict[str, list[str]] = {}
    for operation in operations():
        if operation.description.in_schema:
            titles.setdefault(operation.route.path, operation.description.title.text)
            methods.setdefault(operation.route.path, []).append(operation.route.method)
    rows = "".join(
        f"| `{path}` | {title} | {', '.join(methods[path])} |\n" for path, title in titles.items()
    )
    return _TABLE.sub(lambda _: f"| path | title | methods |\n|---|---|---|\n{rows}", document)


if __name__ == "__main__":
    GUIDE.write_text(with_endpoints(GUIDE.read_text()))
