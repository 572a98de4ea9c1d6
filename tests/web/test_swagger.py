"""The page of Swagger UI."""

import re

from fieldgate.http.response.responses import HTML_CSP
from tests.conftest import Service
from tests.web.page_client import PageClient

PATH = "/api-docs/swagger-ui/"


async def test_csrf_token_is_in_the_page_of_a_session_only(service: Service) -> None:
    _, user_id = await service.create_user()
    client = await PageClient.logged_in(service, user_id)
    for page, length in ((await client.get(PATH), len(client.csrf_token)), (await service.get(PATH), 0)):
        assert re.search(rf'data-csrf-token="\w{{{length}}}"', page.text)
        assert page.headers["Content-Security-Policy"].encode() == HTML_CSP[1], "as strict as for all pages"
        assert page.headers["Cache-Control"] == "private, no-cache"
