"""HTML validation with html-validate, in one Node process for all pages."""

import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from tests.npm import NODE, node_modules

_SCRIPT = Path(__file__).parent / "html_validator.mjs"


class HTMLValidator:
    """Tells where a page is not valid HTML. To be used in a `with` block."""

    def __init__(self, folder: Path) -> None:
        """The folder is for the script: Node finds packages next to scripts only."""
        (folder / "node_modules").symlink_to(node_modules())
        self._script = Path(shutil.copy(_SCRIPT, folder))

    def __enter__(self) -> "HTMLValidator":
        self._process = subprocess.Popen(
            [NODE, self._script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def errors(self, html: str) -> list[str]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"html": html}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "html-validate ended"
        errors: list[str] = json.loads(answer)
        return errors
