"""Redirects that stay on this site, and the origin of a form."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from fieldgate.errors import Header
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.response.responses import NO_STORE, Response


def redirect(base_url: BaseURL, path: str, *headers: Header) -> Response:
    """Redirect to a path of this service, never to another site."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    target = urlsplit(base_url.url).path + quote(path if is_ours else "/", safe="/?&=%:@!$'()*+,;~-._#")
    return Response(303, [(b"location", target.encode()), NO_STORE, *headers])


def is_same_origin(headers: Mapping[bytes, bytes], base_url: BaseURL) -> bool:
    """Whether a form was sent from a page of this service, according to the headers of the browser."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        return False
    host, ours = headers.get(b"host", b"").decode("latin-1"), urlsplit(base_url.url)
    known = {"", f"http://{host}", f"https://{host}", f"{ours.scheme}://{ours.netloc}"}
    return headers.get(b"origin", b"").decode("latin-1") in known
