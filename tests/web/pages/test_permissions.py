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
    return [
        visible_text("<main>" + cell)
        for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
    ]


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


def afterwards(page: str) -> set[str]:
    """Return the permissions that the what-if form shows as held afterwards."""
    form = page.split('<form class="what-if"')[1].split("</form>")[0].split("<tbody>")[1]
    found = re.findall(r'<select id="what-if-(\w+)".*?<td class="(yes|no)">', form, re.DOTALL)
    return {name for name, result in found if result == "yes"}


states = st.fixed_dictionaries(
    {},
    optional={
        codename: st.sampled_from(["held", "assign", "remove"]) for codename in sorted(TABLE)
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=states, asset_type=st.sampled_from(["survey", "collection", "block"]))
async def test_what_if_page_equals_the_rules(
    service: Service, chosen: dict[str, str], asset_type: str
) -> None:
    query = "&".join(f"{name}={state}" for name, state in chosen.items())
    page = (await PageClient(service).get(f"{PATH}?asset_type={asset_type}&{query}")).text
    by_state: dict[str, Any] = {
        state: {name for name in chosen if chosen[name] == state}
        for state in ("held", "assign", "remove")
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
