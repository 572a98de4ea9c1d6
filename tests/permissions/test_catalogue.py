"""The catalogue: relations between permissions, and its two endpoints."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.languages import Language
from fieldgate.permissions.catalogue import BY_CODENAME, PERMISSIONS, implied
from tests.conftest import BASE_URL, Service

# The table of section 2.1 of the interface: codename -> (name, implied, contradictory)
TABLE: dict[str, tuple[str, set[str], set[str]]] = {
    "add_submissions": ("Can submit data to asset", set(), set()),
    "change_asset": ("Can change asset", {"view_asset"}, set()),
    "change_submissions": (
        "Can modify submitted data for asset",
        {"view_submissions", "view_asset", "add_submissions"},
        {"partial_submissions"},
    ),
    "delete_submissions": (
        "Can delete submitted data for asset",
        {"view_submissions", "view_asset"},
        {"partial_submissions"},
    ),
    "discover_asset": ("Can discover asset in public lists", {"view_asset"}, set()),
    "manage_asset": (
        "Can manage all aspects of asset",
        {"add_submissions", "view_submissions", "view_asset", "change_asset", "change_submissions",
         "validate_submissions", "discover_asset", "delete_submissions"},
        set(),
    ),
    "partial_submissions": (
        "Can make partial actions on submitted data for asset for specific users",
        {"view_asset"},
        {"view_submissions", "change_submissions", "delete_submissions", "validate_submissions", "manage_asset"},
    ),
    "validate_submissions": (
        "Can validate submitted data asset",
        {"view_submissions", "view_asset"},
        {"partial_submissions"},
    ),
    "view_asset": ("Can view asset", set(), set()),
    "view_submissions": ("Can view submitted data for asset", {"view_asset"}, {"partial_submissions"}),
}  # fmt: skip

codenames = st.sampled_from(sorted(TABLE))


def test_catalogue_matches_the_table() -> None:
    assert set(BY_CODENAME) == set(TABLE)
    for permission in PERMISSIONS:
        name, implies, contradicts = TABLE[permission.codename]
        assert str(permission.name) == name
        assert implied(permission.codename) == implies
        assert set(permission.contradicts) == contradicts


@given(codenames, codenames)
def test_implication_is_transitive_and_acyclic(first: str, second: str) -> None:
    assert first not in implied(first)
    if second in implied(first):
        assert implied(second) <= implied(first)


@given(codenames)
def test_no_permission_contradicts_what_it_grants(codename: str) -> None:
    assert not set(BY_CODENAME[codename].contradicts) & implied(codename)


def _relations(record: dict[str, Any], start: str, end: str) -> tuple[set[str], set[str]]:
    def bare(links: list[str]) -> set[str]:
        assert all(link.startswith(start) and link.endswith(end) for link in links)
        return {link.removeprefix(start).removesuffix(end) for link in links}

    return bare(record["implied"]), bare(record["contradictory"])


WAYS = {
    "plain": ("", {}, "/"),
    "format=json": ("?format=json", {}, "/?format=json"),
    "accept": ("", {"Accept": "application/json"}, "/"),
}


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("way", WAYS)
async def test_list_and_detail_agree_in_every_language_and_form(
    service: Service, language: Language, way: str
) -> None:
    query, headers, end = WAYS[way]
    headers = {**headers, "Accept-Language": language.value}
    body = (await service.get(f"/api/v2/permissions/{query}", headers=headers)).json()
    assert (body["count"], body["next"], body["previous"]) == (10, None, None)
    assert [record["codename"] for record in body["results"]] == sorted(TABLE)
    addresses = {record["url"] for record in body["results"]}
    for record in body["results"]:
        codename = record["codename"]
        assert list(record) == ["url", "codename", "implied", "contradictory", "name"]
        assert record["url"] == f"{BASE_URL}/api/v2/permissions/{codename}{end}"
        relations = _relations(record, f"{BASE_URL}/api/v2/permissions/", end)
        assert relations == TABLE[codename][1:]
        assert {*record["implied"], *record["contradictory"]} <= addresses, (
            "links are byte-equal to the url they name"
        )
        for path in (
            f"/api/v2/permissions/{codename}/{query}",
            f"/api/v2/permissions/{codename}{query}",
        ):
            assert (await service.get(path, headers=headers)).json() == record
        if not query:
            assert (
                await service.get(f"/api/v2/permissions/{codename}.json", headers=headers)
            ).json() == record
