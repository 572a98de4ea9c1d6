"""Parse a multipart body while it arrives. Parts are kept as `SpooledBytes`."""

import re
from collections.abc import Callable
from contextlib import suppress
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import NamedTuple
from urllib.parse import unquote

from multipart import MultipartSegment, PushMultipartParser

from fieldgate.http.request.spooled_body import SpooledBytes

MAX_PARTS = 100

_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_EXTENDED_FILENAME = re.compile(
    r";\s*filename\*\s*=\s*([\w.:+-]+)'[^';]*'([^\s;]+)", re.ASCII | re.IGNORECASE
)  # RFC 5987
_ENCODED_WORDS = re.compile(r"\s*=\?.+\?=\s*")  # RFC 2047, as mail programs encode non-ASCII text


class Part(NamedTuple):
    name: str
    filename: str | None  # None: a field, not a file
    content: SpooledBytes


class MultipartReader:
    """Raises `MultipartError` or `ValueError` if the body is not valid."""

    def __init__(self, boundary: str, new_content: Callable[[], SpooledBytes]) -> None:
        self._parser = PushMultipartParser(boundary, max_segment_count=MAX_PARTS)
        self._new_content = new_content
        self._parts: list[Part] = []

    async def feed(self, chunk: bytes) -> None:
        for event in self._parser.parse(chunk):
            if isinstance(event, MultipartSegment):
                self._parts.append(Part(event.name, part_filename(event), self._new_content()))
            elif event:
                await self._parts[-1].content.write(bytes(event))
            else:
                await self._parts[-1].content.finish()

    def finish(self) -> list[Part]:
        self._parser.close()
        return self._parts


def part_filename(head: MultipartSegment) -> str | None:
    """The file name in any encoding, without folders; None for a field. `filename*` (RFC 5987) wins over `filename`."""
    name = _sent_filename(head)
    return None if name is None else base_name(name)


def _sent_filename(head: MultipartSegment) -> str | None:
    extended = _EXTENDED_FILENAME.search(_QUOTED.sub('""', head.header("Content-Disposition")))
    if extended is not None:
        with suppress(LookupError):
            return unquote(extended[2], encoding=extended[1])
        return unquote(extended[2])  # unknown charset
    name: str | None = head.filename
    if name is not None and _ENCODED_WORDS.fullmatch(name):
        with suppress(HeaderParseError, LookupError, ValueError):  # it only looked encoded
            return str(make_header(decode_header(name)))
    return name


def base_name(name: str) -> str:
    """A file name without its folders."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").strip()
