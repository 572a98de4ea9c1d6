"""The guide and the recipes as pages of the service."""

import re

import pytest

from fieldgate.web.documents import DOCUMENTS, load_document
from tests.conftest import Service, StartService
from tests.web.page_client import PageClient


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_documents_are_pages(service: Service, name: str) -> None:
    """In their own language on a page in another, with links that lead somewhere."""
    page = await PageClient(service, language="ar").get(f"/docs/{name}/")
    assert page.status_code == 200
    assert '<html lang="ar" dir="rtl"' in page.text
    document = page.text.split('<article class="document" lang="en" dir="ltr"')[1].split(
        "</article>"
    )[0]
    assert "<table>" in document or name == "recipes"
    assert "<img" not in document
    for target, anchor in re.findall(r'<a href="(?:\.\./(\w+)/)?(?:#([^"]+))?">', document):
        html = load_document(target or name).html
        assert not anchor or f'id="{anchor}"' in html, (target, anchor)
    for other in DOCUMENTS:
        assert f'href="/docs/{other}/"' in page.text, "the footer of every page"


async def test_examples_have_the_address_of_the_service(start: StartService) -> None:
    async with start(
        base_url="https://field.example.org/go", allowed_hosts=("field.example.org",)
    ) as service:
        page = await service.get(
            "/docs/recipes/", headers={"Accept": "text/html", "Host": "field.example.org"}
        )
        assert "https://field.example.org/go/api/v2/event/" in page.text
        assert "127.0.0.1" not in page.text


async def test_other_documents_are_not_pages(service: Service) -> None:
    for name in ("running", "security", "..%2Fguide", "guide.md"):
        page = await service.get(f"/docs/{name}/", headers={"Accept": "text/html"})
        assert page.status_code == 404
        assert "Only the guide and the recipes are here." in page.text or "%" in name
    guide = (await service.get("/docs/guide/", headers={"Accept": "text/html"})).text
    for named in ("see Operations (docs/operations.md)", "README (client/README.md)"):
        assert named in guide, "where it is"
