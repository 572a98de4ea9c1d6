"""npm packages of the tests: `scripts/install-npm` installs them into the virtual environment."""

import sys
from pathlib import Path

BIN = Path(sys.executable).parent
NODE = BIN / "node"
NPM_FOLDER = BIN.parent / "npm"
_WANTED = Path(__file__).parent / "package.json"
_MESSAGE = "The npm packages of this test are missing or old. Run: scripts/install-npm .venv (`make test` does it)"


def node_modules() -> Path:
    """The folder of the installed packages. Fails if they are not those of `tests/package.json`."""
    installed = NPM_FOLDER / "package.json"
    assert installed.is_file(), _MESSAGE
    assert installed.read_bytes() == _WANTED.read_bytes(), _MESSAGE
    return NPM_FOLDER / "node_modules"
