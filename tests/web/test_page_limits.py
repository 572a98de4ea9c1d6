"""Small requests and small forms must not make huge or slow pages."""

from fieldgate.assets.form_texts import MAX_QUOTED_CHARS, LabelFinder
from fieldgate.http.request_parsing import MAX_PAGE_QUERY_BYTES
from fieldgate.web.page_templates import sanitize
from tests.conftest import Service
from tests.web.page_client import PageClient


async def test_query_of_a_page_is_limited(service: Service) -> None:
    ids = ",".join(map(str, range(MAX_PAGE_QUERY_BYTES)))
    page = await PageClient(service).get(f"/api/v2/event/?id__in={ids}")
    assert page.status_code == 400
    assert "too long for a page" in page.text
    assert (await service.get(f"/api/v2/event/?id__in={ids}")).status_code == 200


async def test_many_values_of_a_filter_have_one_chip(service: Service) -> None:
    page = await PageClient(service).get(f"/api/v2/event/?id__in={','.join(map(str, range(800)))}")
    assert page.status_code == 200
    assert "800 values" in page.text
    assert len(page.text) < 200_000


async def test_first_day_of_the_calendar(service: Service) -> None:
    page = await PageClient(service).get("/api/v2/event/?disaster_start_date__lt=0001-01-01")
    assert page.status_code == 200


def test_sanitised_text_does_not_grow() -> None:
    opened = "".join(f"<b id={number}>" for number in range(90))
    html = f"<p>{opened}</p>" + "<p>x" * 90
    assert len(sanitize(html)) <= 4 * len(html) + 1000
    assert sanitize("<p>&</p>" * 50_000).count("<") == 0


def test_label_is_cleaned_once_however_often_it_is_referred_to() -> None:
    label = "**a " * 16_000
    finder = LabelFinder({"survey": [{"type": "text", "name": "q", "label": [label]}]}, 0)
    text = finder.readable("${q}" * 16_000)
    assert len(finder.question("q")) <= MAX_QUOTED_CHARS
    assert len(text) <= 2_500 * (MAX_QUOTED_CHARS + 2)
