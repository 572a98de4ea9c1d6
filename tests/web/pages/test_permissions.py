"""Pages of permissions: the matrix, one permission, effects, and the what-if tool."""

import re
from html import unescape
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fieldgate.i18n.languages import Language
from fieldgate.permissions import rules, what_if
from fieldgate.permissions.labels import short_label
from tests.conftest import Service
from tests.permissions.test_catalogue import TABLE
from tests.web.page_client import PageClient, visible_text

PATH = "/api/v2/permissions/"
LABELS = {codename: short_label(codename, "survey", Language.ENGLISH) for codename in TABLE}


def cells(row: str) -> list[str]:
    return [visible_text("<main>" + cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]


def rows(page: str, table: str) -> list[list[str]]:
    body = page.split(table)[1].split("</table>")[0]
    return [cells(row) for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)]


@pytest.fixture
def client(service: Service) -> PageClient:
    return PageClient(service)


async def test_matrix_shows_what_each_gives_and_takes_away(client: PageClient) -> None:
    page = (await client.get(PATH)).text
    head, *body = rows(page, '<table class="matrix">')
    assert sorted(head[1:]) == sorted(LABELS.values())
    by_label = {label: codename for codename, label in LABELS.items()}
    codenames = [by_label[label] for label in head[1:]]
    for codename, row in zip(codenames, body, strict=True):
        assert row[0].startswith(LABELS[codename])
        _, implied, contradictory = TABLE[codename]
        removed = {*contradictory, *(each for given in implied for each in TABLE[given][2])}
        for other, cell in zip(codenames, row[1:], strict=True):
            expected = (
                "● itself" if other == codename
                else "✓ gives it, too" if other in implied
                else "✗ takes it away" if other in removed
                else ""
            )  # fmt: skip
            assert cell == expected
    assert not set(TABLE) & set(re.findall(r"\w+", visible_text(page)))


async def test_cells_of_the_matrix_name_their_column_on_phones(client: PageClient) -> None:
    body = (await client.get(PATH)).text.split('<table class="matrix">')[1].split("</table>")[0]
    labels = [unescape(label) for label in re.findall(r'<th scope="col"><span>(.*?)</span>', body)]
    rows_of_cells = re.findall(r"<tr>(.*?)</tr>", body.split("<tbody>")[1], re.DOTALL)
    assert len(rows_of_cells) == len(labels) == len(TABLE)
    for row in rows_of_cells:
        found = re.findall(r'<td class="(\w+)"(?: data-label="([^"]*)")?>', row)
        for (kind, label), column in zip(found, labels, strict=True):
            assert unescape(label) == (column if kind in ("gives", "removes") else "")


@pytest.mark.parametrize("codename", sorted(TABLE))
@pytest.mark.parametrize("language", ["en", "ar"])
async def test_page_of_each_permission(service: Service, codename: str, language: str) -> None:
    page = (await PageClient(service, language=language).get(f"{PATH}{codename}/")).text
    label = short_label(codename, "survey", Language(language))
    assert f"<h1>{label}</h1>" in page
    main = page.split("<main")[1].split('<details class="programs"')[0]
    linked = set(re.findall(r'href="/api/v2/permissions/(\w+)/"', main))
    _, implied, contradictory = TABLE[codename]
    assert implied | contradictory <= linked
    assert codename not in visible_text(page)


async def test_effects_of_one_permission(client: PageClient) -> None:
    text = visible_text((await client.get(f"{PATH}view_submissions/effects/?held=partial_submissions")).text)
    assert "What giving “View submissions” does" in text
    assert "For a person who has: View form and Act on submissions only from specific users." in text
    assert (
        "− Loses: Act on submissions only from specific users – not possible together with “View submissions”" in text
    )
    assert "Afterwards: View form and View submissions" in text
    nothing = visible_text((await client.get(f"{PATH}view_asset/effects/?held=view_asset")).text)
    assert "Nothing would change: the permission is already held." in nothing


def selected(page: str) -> dict[str, str]:
    """Return what the what-if form has selected for each permission."""
    form = page.split('<form class="what-if"')[1].split("</form>")[0]
    found = {}
    for name, options in re.findall(r'<select id="[^"]+" name="(\w+)">(.*?)</select>', form, re.DOTALL):
        found[name] = re.findall(r'value="(\w*)" selected', options)[0]
    return found


def afterwards(page: str) -> set[str]:
    """Return the permissions that the what-if form shows as held afterwards."""
    form = page.split('<form class="what-if"')[1].split("</form>")[0].split("<tbody>")[1]
    found = re.findall(r'<select id="what-if-(\w+)".*?<td class="(yes|no)">', form, re.DOTALL)
    return {name for name, result in found if result == "yes"}


async def test_what_if(client: PageClient) -> None:
    page = (await client.get(f"{PATH}?change_asset=remove&view_submissions=assign&asset_type=survey")).text
    assert selected(page)["change_asset"] == "remove"
    assert selected(page)["view_asset"] == ""
    assert afterwards(page) == {"view_asset", "view_submissions"}
    text = visible_text(page)
    assert "− chosen" in text
    assert "comes with what the person has" in text
    assert "The address of this page keeps your choice" in text


async def test_what_if_that_is_not_possible_keeps_the_choice(client: PageClient) -> None:
    page = (await client.get(f"{PATH}?view_submissions=held&partial_submissions=held")).text
    text = visible_text(page)
    assert "This is not possible" in text
    assert "“Act on submissions only from specific users” and “View submissions” contradict each other" in text
    assert selected(page)["partial_submissions"] == "held"
    assert afterwards(page) == set()


@pytest.mark.parametrize("query", ["view_asset=x", "asset_type=none", "view_asset=assign&asset_type=%3Cscript%3E", ""])
async def test_unusual_what_if(client: PageClient, query: str) -> None:
    answer = await client.get(f"{PATH}?{query}")
    assert answer.status_code == 200
    assert "<script>" not in answer.text
    assert selected(answer.text)["asset_type"] == "survey"


async def test_page_of_the_what_if_resource(client: PageClient) -> None:
    page = (await client.get(f"{PATH}effects/?held=change_asset&assign=view_submissions&remove=change_asset")).text
    assert selected(page)["change_asset"] == "remove"
    assert selected(page)["view_submissions"] == "assign"
    assert afterwards(page) == {"view_asset", "view_submissions"}


states = st.fixed_dictionaries(
    {}, optional={codename: st.sampled_from(["held", "assign", "remove"]) for codename in sorted(TABLE)}
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=states, asset_type=st.sampled_from(["survey", "collection", "block"]))
async def test_what_if_page_equals_the_rules(service: Service, chosen: dict[str, str], asset_type: str) -> None:
    query = "&".join(f"{name}={state}" for name, state in chosen.items())
    page = (await PageClient(service).get(f"{PATH}?asset_type={asset_type}&{query}")).text
    by_state: dict[str, Any] = {
        state: {name for name in chosen if chosen[name] == state} for state in ("held", "assign", "remove")
    }
    held = by_state["held"] | by_state["remove"]
    refused = (
        what_if.name_errors(held, asset_type)
        or what_if.name_errors(by_state["assign"], asset_type)
        or what_if.removal_errors(by_state["remove"], by_state["assign"])
    )
    assert bool(refused) == ("This is not possible" in page)
    if chosen and not refused:
        outcome = what_if.change(
            rules.with_implied(held, asset_type),
            assigned=by_state["assign"],
            removed=by_state["remove"],
            asset_type=asset_type,
        )
        assert afterwards(page) == outcome.state.granted
    assert not re.search("[{}]", unescape(visible_text(page)))


@pytest.mark.parametrize("language", ["fr", "ar", "es"])
async def test_no_english_in_other_languages(service: Service, language: str) -> None:
    client = PageClient(service, language=language)
    for path in (
        f"{PATH}?change_asset=remove&view_submissions=assign",
        f"{PATH}manage_asset/",
        f"{PATH}manage_asset/effects/?held=view_asset",
        f"{PATH}effects/?assign=view_asset",
    ):
        words = set(re.findall(r"[A-Za-z]{3,}", visible_text((await client.get(path)).text)))
        assert not words & {"the", "can", "Can", "form", "and", "with", "you", "Edit", "View", "person", "what", "give"}


async def test_graph_links_to_every_permission(client: PageClient) -> None:
    page = (await client.get(PATH)).text
    graph = page.split('<svg class="graph"')[1].split("</svg>")[0]
    for codename, label in LABELS.items():
        assert f'<a href="{PATH}{codename}/"><title>{label}</title>' in graph
