"""The certificate authorities that are trusted, loaded when a connection needs them.

Loading them takes longer than reading many pages, and a server on this machine or in a closed network has no TLS.
"""

from __future__ import annotations

import ssl
from functools import cached_property
from typing import Any

import httpx


class LazyCertificates(ssl.SSLContext):
    """Verifies servers as httpx does by default: the authorities of certifi, or of `SSL_CERT_FILE`."""

    def __new__(cls) -> LazyCertificates:
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    @cached_property
    def _loaded(self) -> ssl.SSLContext:
        context = httpx.create_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        return self._loaded.wrap_bio(*args, **options)

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        return self._loaded.wrap_socket(*args, **options)
