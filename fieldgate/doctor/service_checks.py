"""Checks over HTTP: the running service, and the proxy in front of it."""

import ssl
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import httpx

from fieldgate.doctor.findings import Finding, error, ok, warning
from fieldgate.doctor.settings_checks import is_local
from fieldgate.settings import Settings

TIMEOUT_SECONDS = 5
PROBE_PATH = "/api/v2/permissions/"


async def check_service(settings: Settings) -> AsyncIterator[Finding]:
    """Ask the service on this machine whether it is ready."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    address = (
        f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
    )
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False) as client:
            response = await client.get(f"{address}/readyz")
    except httpx.HTTPError as found:
        message = f"No service answers at {address}: {_reason(found)}."
        advice = (
            "If it should run, start it and read its log. If it has another port, use --port or "
            "set FIELDGATE_PORT."
        )
        yield warning("service", message, advice)
        return
    if response.status_code == httpx.codes.OK:
        yield ok("service", f"The service at {address} is ready.")
    elif response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        yield error(
            "service",
            f"The service at {address} is not ready. {_detail(response)}".strip(),
            "Read its log.",
        )
    else:
        message = f"{address}/readyz answers {response.status_code}: it may be another program."
        yield warning("service", message, "Check FIELDGATE_HOST and FIELDGATE_PORT (or --port).")


def _detail(response: httpx.Response) -> str:
    """What the service says about the reason, if it is ours."""
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return ""


async def check_proxy(settings: Settings, *, is_online: bool) -> AsyncIterator[Finding]:
    """Ask the public address for a list, and look at the links in it."""
    if not settings.base_url:
        if is_online:
            message = "No public address was asked: FIELDGATE_BASE_URL is not set."
            yield warning("proxy", message, "Set it as for the service.")
        return
    shown = without_credentials(settings.base_url)
    if not is_online and not is_local(urlsplit(shown).hostname or ""):
        yield ok("proxy", f"{shown} was not checked. Use --online to ask it.")
        return
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False) as client:
            response = await client.get(f"{settings.base_url}{PROBE_PATH}", params={"limit": 1})
    except httpx.HTTPError as found:
        is_certificate = isinstance(found.__cause__, ssl.SSLError) or "CERTIFICATE" in str(found)
        reason = (
            f"its certificate is not valid: {found}" if is_certificate else f"{_reason(found)}."
        )
        yield error(
            "proxy",
            f"{shown} does not answer: {reason}",
            "Check the proxy, its name and its certificate.",
        )
        return
    yield _judge_links(shown, response)


def _reason(found: httpx.HTTPError) -> str:
    """Why there is no response, in words."""
    if isinstance(found, httpx.TimeoutException):
        return f"there is no response within {TIMEOUT_SECONDS} seconds"
    if isinstance(found, httpx.ConnectError):
        return "nothing accepts connections there"
    return "the connection broke before there was a response"


def _judge_links(base_url: str, response: httpx.Response) -> Finding:
    shown = f"{base_url}{PROBE_PATH}"
    if response.is_redirect:
        target = response.headers.get("Location", "")
        return error(
            "proxy",
            f"{shown} redirects to {target}.",
            "Set FIELDGATE_BASE_URL to the address without redirect.",
        )
    if response.status_code != httpx.codes.OK:
        advice = "Check that the proxy forwards to Fieldgate, and FIELDGATE_ALLOWED_HOSTS."
        return error("proxy", f"{shown} answers {response.status_code}.", advice)
    try:
        links = [str(response.json()["next"]), str(response.json()["results"][0]["url"])]
    except (ValueError, KeyError, IndexError, TypeError):
        return error(
            "proxy", f"{shown} is not answered by Fieldgate.", "Check what the proxy forwards."
        )
    wrong = [link for link in links if not link.startswith(f"{base_url}/")]
    if wrong:
        advice = "Set FIELDGATE_BASE_URL for `serve` too, and restart it."
        return error("proxy", f"Links at {base_url} lead to {wrong[0]}.", advice)
    return ok("proxy", f"{base_url} answers, and its links are right.")


def without_credentials(url: str) -> str:
    """The URL without a user name and a password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
