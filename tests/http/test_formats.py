"""Negotiation of the response format."""

import pytest

from fieldgate.errors import NotAcceptable, NotFound
from fieldgate.http.negotiation import Format, choose_format
from tests.conftest import Service

BOTH = (Format.JSON, Format.HTML)
FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
CHROME = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7"
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Format.JSON),
        ("  ", Format.JSON),
        ("*/*", Format.JSON),
        ("application/json", Format.JSON),
        ("APPLICATION/JSON", Format.JSON),
        ("application/*", Format.JSON),
        ("application/json; indent=2", Format.JSON),
        ("application/json, text/plain, */*", Format.JSON),
        (FIREFOX, Format.HTML),
        (CHROME, Format.HTML),
        ("text/html", Format.HTML),
        ("text/*", Format.HTML),
        ("text/html, application/json", Format.HTML),
        ("application/json, text/html", Format.JSON),
        ("text/html;q=0.5, application/json;q=0.9", Format.JSON),
        ("text/html;q=0, */*", Format.JSON),
        ("application/json;q=0, */*", Format.HTML),
        ("*/*;q=0.1, text/html;q=0.05", Format.JSON),
        ("garbage, application/json", Format.JSON),
        ("text/html;q=nonsense, application/json;q=0.1", Format.JSON),
    ],
)
def test_accept(accept: str, expected: Format) -> None:
    assert choose_format(BOTH, "", accept.encode()) is expected


@pytest.mark.parametrize(
    "accept", ["application/xml", "garbage", "text/csv", "application/json;q=0", "image/*", ";;,"]
)
def test_no_acceptable_format(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        choose_format(BOTH, "", accept.encode())


def test_format_parameter_wins() -> None:
    assert choose_format(BOTH, "api", b"application/json") is Format.HTML
    assert choose_format(BOTH, "json", FIREFOX.encode()) is Format.JSON
    assert choose_format(BOTH, "json", b"image/png") is Format.JSON


@pytest.mark.parametrize("word", ["xml", "JSON", "csv", "html", "../etc", "\x00"])
def test_unknown_format(word: str) -> None:
    with pytest.raises(NotFound):
        choose_format(BOTH, word, b"")


@pytest.mark.parametrize("path", ["/api/v2/permissions", "/api/v2/permissions/view_asset"])
@pytest.mark.parametrize("spelling", ["", "/", ".json", ".json/"])
async def test_all_spellings_of_a_path_give_the_same_response(
    service: Service, path: str, spelling: str
) -> None:
    expected = (await service.get(path)).json()
    answer = await service.get(path + spelling, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()) == (200, expected)
    assert not answer.history


async def test_json_suffix_wins_over_accept(service: Service) -> None:
    for accept in (FIREFOX, "image/png"):
        answer = await service.get(
            "/api/v2/permissions/view_asset.json", headers={"Accept": accept}
        )
        assert answer.headers["Content-Type"] == "application/json"


async def test_blank_format_is_ignored(service: Service) -> None:
    answer = await service.get("/api/v2/permissions/view_asset/?format=")
    assert answer.json()["url"] == "http://127.0.0.1:8000/api/v2/permissions/view_asset/"


async def test_content_type_of_a_get_is_ignored(service: Service) -> None:
    for kind in ("text/csv; charset=utf-8", "application/json", "nonsense"):
        assert (
            await service.get("/api/v2/permissions/", headers={"Content-Type": kind})
        ).status_code == 200
