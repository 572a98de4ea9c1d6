"""The body of an upload: a file and text fields as multipart/form-data, made while it is sent."""

from __future__ import annotations

import mimetypes
import re
import uuid
from collections.abc import AsyncIterator, Callable, Mapping

CHUNK_BYTES = 64 * 1024

UploadProgress = Callable[[int, int], None]  # bytes sent, bytes in all


class MultipartBody:
    def __init__(
        self, fields: Mapping[str, str], filename: str, content: bytes, on_progress: UploadProgress | None = None
    ) -> None:
        boundary = uuid.uuid4().hex
        self.content_type = f"multipart/form-data; boundary={boundary}"
        media_type = mimetypes.guess_type(filename)[0] or "application/octet-stream"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        parts.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_quoted(filename)}"\r\n'
            f"Content-Type: {media_type}\r\n\r\n"
        )
        self._before = "".join(parts).encode(errors="replace")
        self._content = content
        self._after = f"\r\n--{boundary}--\r\n".encode()
        self._on_progress = on_progress
        self.size = len(self._before) + len(self._content) + len(self._after)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes of the body. After a lost connection they, and the progress, begin again."""
        total = len(self._content)
        yield self._before
        for start in range(0, total, CHUNK_BYTES):
            chunk = self._content[start : start + CHUNK_BYTES]
            yield chunk
            if self._on_progress:
                self._on_progress(start + len(chunk), total)
        yield self._after


def _quoted(name: str) -> str:
    """As browsers write it: percent codes for what would end the name or the line."""
    return re.sub(r'["\x00-\x1f\x7f]', lambda found: f"%{ord(found[0]):02X}", name)
