"""Newline-delimited JSON: the records exactly as the server sent them, one per line."""

from __future__ import annotations

import msgspec

from fieldgate_client.exports.output_file import OutputFile, Target


class NDJSONWriter:
    """Records are not decoded."""

    def __init__(self, target: Target) -> None:
        self._output = OutputFile(target)

    def write(self, records: list[msgspec.Raw]) -> None:
        self._output.file.write(to_lines(records))

    def finish(self) -> None:
        self._output.commit()

    def close(self) -> None:
        self._output.discard()


def to_lines(records: list[msgspec.Raw]) -> bytes:
    if not records:
        return b""
    lines = b"\n".join(records) + b"\n"
    if lines.count(b"\n") != len(records) or b"\r" in lines:
        # Some servers indent JSON. Line breaks inside of texts are always escaped.
        lines = b"\n".join([bytes(each).replace(b"\r", b" ").replace(b"\n", b" ") for each in records]) + b"\n"
    return lines
