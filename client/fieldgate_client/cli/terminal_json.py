"""JSON on a terminal."""

from __future__ import annotations

import re
from typing import BinaryIO

_CONTROLS = re.compile(rb"\x7f|\xc2[\x80-\x9f]")


class TerminalJSON:
    """Standard output for lines of JSON. JSON escapes most control characters; this escapes the others."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        self._file.write(_CONTROLS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data))
        return len(data)

    def flush(self) -> None:
        self._file.flush()
