"""A browser without JavaScript that logs in with a provider."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.web.sign_on_routes import ATTEMPT_COOKIE
from tests.conftest import BASE_URL, Service
from tests.processes import TIMEOUT_SECONDS
from tests.web.page_client import PageClient, visible_text

LOGIN = "/login/ngo/"
ISOLATES = dict.fromkeys(
    map(ord, "\u2066\u2067\u2068\u2069")
)  # around names, which may be in another direction
CALLBACK = f"{BASE_URL}/login/ngo/callback/"


class SignOnBrowser(PageClient):
    """Cookies are kept, redirects are followed by hand."""

    @property
    def service(self) -> Service:
        return self._service

    @property
    def session(self) -> str:
        return self._cookies.get(SESSION_COOKIE.decode(), "")

    @property
    def attempt(self) -> str:
        """The cookie of a login that was begun."""
        return self._cookies.get(ATTEMPT_COOKIE.decode(), "")

    def another(self) -> "SignOnBrowser":
        """Another browser, without cookies, of the same service."""
        return SignOnBrowser(self._service)

    def plant_attempt(self, value: str) -> None:
        """Set the cookie of an attempt, as another site of the same domain could do."""
        self._cookies[ATTEMPT_COOKIE.decode()] = value

    def forget_attempt(self) -> None:
        del self._cookies[ATTEMPT_COOKIE.decode()]

    async def log_in_with_password(self, username: str, password: str) -> None:
        answer = await self._send(
            "POST", "/login/", data={"username": username, "password": password}
        )
        assert answer.status_code == 303, visible_text(answer.text)
        self._session = self.session

    async def log_in(self, path: str = LOGIN) -> httpx.Response:
        """Log in with the provider; return the last answer of the service."""
        return await self.come_back(await self.go_to_provider(path))

    async def go_to_provider(self, path: str = LOGIN) -> str:
        """Begin to log in, and do that at the provider. Return where it sends the browser to."""
        url = await self.begin(path)
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
            answer = await client.get(url)
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"]

    async def begin(self, path: str = LOGIN) -> str:
        """Begin to log in. Return where the service sends the browser to."""
        answer = await self.get(path)
        assert answer.status_code == 303, visible_text(answer.text)
        return answer.headers["Location"]

    async def come_back(self, url: str) -> httpx.Response:
        answer = await self.get(url)
        self._session = self.session
        return answer

    async def me(self) -> dict[str, Any]:
        answer = await self._service.request(
            "GET", "/me/", headers={"Cookie": self._cookie_header()}
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def identities(self) -> list[dict[str, Any]]:
        path = "/api/v2/account/identities/"
        answer = await self._service.request("GET", path, headers={"Cookie": self._cookie_header()})
        return list(answer.raise_for_status().json()["results"])

    def _cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self._cookies.items())


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def error_on(page: httpx.Response) -> str:
    """The text of the summary of errors of a page."""
    found = re.search(r'class="error-summary".*?<li[^>]*>(.*?)</li>', page.text, re.DOTALL)
    assert found, visible_text(page.text)
    return unescape(found[1]).translate(ISOLATES)
