"""Records on a terminal."""

from __future__ import annotations

import re
from typing import BinaryIO

_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")


class TerminalFile:
    """Standard output for JSON and CSV: control characters, which could take over the terminal, are escaped."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        self._file.write(_CONTROLS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data))
        return len(data)

    def flush(self) -> None:
        self._file.flush()
