"""Limit the size of what one file becomes: a workbook of kilobytes can expand to hundreds of megabytes."""

from collections.abc import Iterable
from typing import Any

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import FormRejected

MAX_CONTENT_BYTES = 32 * 1024 * 1024


def check_content_size(parts: Iterable[Any]) -> None:
    """Raise FormRejected as soon as the parts together, as JSON, exceed MAX_CONTENT_BYTES."""
    size = 0
    for part in parts:
        size += len(msgspec.json.encode(part))
        if size > MAX_CONTENT_BYTES:
            message = Message(
                "The content of the file is larger than {size} MiB. Split the file, or shorten its lists of choices.",
                size=MAX_CONTENT_BYTES // (1024 * 1024),
            )
            raise FormRejected("too_large", message)
