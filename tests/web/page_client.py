"""A browser without JavaScript, as far as the tests of pages need one: session, pages and forms."""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

import httpx

from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.identity import csrf_token
from fieldgate.web.notices import NOTICE_COOKIE
from tests.conftest import BASE_URL, Service
from tests.data.accounts import create_session

FileFields = Sequence[tuple[str, tuple[str, bytes]]]  # field, file name, content


class PageClient:
    """Pages for one user of a service. Cookies are kept here, so that several users can share a service."""

    def __init__(self, service: Service, session: str = "", language: str = "en") -> None:
        self._service = service
        self._cookies = {SESSION_COOKIE.decode(): session} if session else {}
        self._session = session
        self.language = language

    @classmethod
    async def logged_in(
        cls, service: Service, user_id: int, language: str = "en", provider: str = ""
    ) -> "PageClient":
        """With a session that was opened with a password, or through a provider of single sign-on."""
        return cls(
            service,
            create_session(service, user_id, provider),
            language,
        )

    @property
    def csrf_token(self) -> str:
        """Another one every time, as every page has another one."""
        return csrf_token(self._session) if self._session else ""

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return await self._send("GET", path, headers)

    async def submit(
        self,
        path: str,
        form: str,
        fields: Mapping[str, Any] | None = None,
        files: FileFields | None = None,
    ) -> httpx.Response:
        """Send a form of a page. Redirects are not followed."""
        data = {"csrf_token": self.csrf_token, **(fields or {})}
        url = f"{path}{'&' if '?' in path else '?'}form={form}"
        return await self._send("POST", url, data=data, files=files)

    async def submit_from(
        self, page: httpx.Response, path: str, form: str, fields: Mapping[str, Any]
    ) -> httpx.Response:
        """Send a form with the token of a page, as a browser does."""
        return await self.submit(path, form, {"csrf_token": csrf_token_in(page), **fields})

    async def submit_and_follow(
        self,
        path: str,
        form: str,
        fields: Mapping[str, Any] | None = None,
        files: FileFields | None = None,
    ) -> httpx.Response:
        """Send a form that must succeed; return the page that it leads to."""
        answer = await self.submit(path, form, fields, files)
        assert answer.status_code == 303, visible_text(answer.text)
        return await self.get(answer.headers["Location"])

    async def _send(
        self, method: str, path: str, more_headers: Mapping[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        headers = {
            "Accept": "text/html,*/*;q=0.8",
            "Accept-Language": self.language,
            "Origin": BASE_URL,
            **(more_headers or {}),
        }
        answer = await self._service.request(
            method, path, headers={**headers, "Cookie": cookies}, **options
        )
        self._service.client.cookies.clear()
        for header in answer.headers.get_list("Set-Cookie"):
            name, value = header.split(";")[0].split("=", 1)
            self._cookies[name] = value.strip('"')
        if not self._cookies.get(NOTICE_COOKIE.decode()):
            self._cookies.pop(NOTICE_COOKIE.decode(), None)
        return answer


def csrf_token_in(page: httpx.Response) -> str:
    found = re.search(r'name="csrf_token" value="(\w+)"', page.text)
    assert found
    return found[1]


def visible_text(page: str) -> str:
    """The text of a page without its tags and without what is for programs, with single spaces."""
    main = page.split("<main", 1)[-1].split('<details class="programs"')[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", "<main" + main)).split())
