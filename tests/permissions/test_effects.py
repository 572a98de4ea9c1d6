"""`/api/v2/permissions/{codename}/effects/`: what assigning would do, without any asset."""

from typing import Any

import pytest

from tests.conftest import BASE_URL, Service

URL = f"{BASE_URL}/api/v2/permissions"


def path(codename: str, query: str = "") -> str:
    return f"/api/v2/permissions/{codename}/effects/{query and '?' + query}"


def bare(links: list[str]) -> list[str]:
    return [link.removeprefix(f"{URL}/").removesuffix("/") for link in links]


async def effects(service: Service, codename: str, query: str = "") -> dict[str, Any]:
    answer = await service.get(path(codename, query))
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def test_effects_and_reasons(service: Service) -> None:
    assert await effects(service, "view_submissions", "held=partial_submissions") == {
        "permission": f"{URL}/view_submissions/",
        "asset_type": "survey",
        "held": [f"{URL}/partial_submissions/", f"{URL}/view_asset/"],
        "effects": [
            {
                "permission": f"{URL}/view_submissions/",
                "effect": "granted",
                "reason": "asked",
                "because": None,
                "message": "view_submissions: granted, as asked.",
                "label": "View submissions",
                "why": "chosen",
            },
            {
                "permission": f"{URL}/partial_submissions/",
                "effect": "removed",
                "reason": "contradicted",
                "because": f"{URL}/view_submissions/",
                "message": "partial_submissions: removed, contradicted by view_submissions.",
                "label": "Act on submissions only from specific users",
                "why": "not possible together with “View submissions”",
            },
        ],
        "result": [f"{URL}/view_asset/", f"{URL}/view_submissions/"],
    }


@pytest.mark.parametrize("suffix", ["", "?format=json"])
async def test_the_links_of_an_answer_can_be_sent_back(service: Service, suffix: str) -> None:
    result = (await effects(service, "change_asset", "held=view_submissions"))["result"]
    links = ",".join(link + suffix for link in result)
    again = (await service.get(path("change_asset"), params={"held": links})).json()
    assert (again["held"], again["effects"]) == (sorted(result), [])
    both = {
        "held": links,
        "remove": f"{URL}/change_asset/{suffix}",
        "assign": f"{URL}/manage_asset/{suffix}",
    }
    refused = await service.get("/api/v2/permissions/effects/", params=both)
    assert refused.json() == {"remove": ["change_asset cannot be removed: manage_asset needs it."]}
    assert (
        await service.get(path("change_asset"), params={"held": f"{BASE_URL}/api/v2/users/x/"})
    ).status_code == 400


async def test_held_is_empty_or_has_blanks(service: Service) -> None:
    plain = await effects(service, "change_asset")
    assert (plain["held"], bare(plain["result"])) == ([], ["change_asset", "view_asset"])
    assert await effects(service, "change_asset", "held=") == plain
    assert await effects(service, "change_asset", "held=,%20,") == plain
    assert await effects(service, "change_asset", "asset_type=survey") == plain
    same = await effects(service, "change_asset", "held=view_asset,%20change_asset,view_asset")
    assert (same["effects"], same["held"]) == ([], same["result"])


@pytest.mark.parametrize(
    ("codename", "query", "wrong"),
    [
        ("view_asset", "held=nothing", {"held": ["There is no permission nothing."]}),
        (
            "view_asset", "held=discover_asset,x",
            {"held": ["There is no permission x.", "discover_asset cannot be assigned on an asset of this type."]},
        ),
        (
            "view_asset", "held=view_submissions,partial_submissions",
            {"held": ["partial_submissions and view_submissions contradict each other: assign one of them."]},
        ),
        (
            "view_submissions", "asset_type=block&held=add_submissions",
            {"asset_type": ["view_submissions cannot be assigned on an asset of this type."],
             "held": ["add_submissions cannot be assigned on an asset of this type."]},
        ),
        (
            "view_asset", "asset_type=text",
            {"asset_type": ["Choose one of: survey, template, block, question, collection, empty."]},
        ),
    ],
)  # fmt: skip
async def test_invalid_parameters_are_refused(
    service: Service, codename: str, query: str, wrong: dict[str, list[str]]
) -> None:
    answer = await service.get(path(codename, query))
    assert (answer.status_code, answer.json()) == (400, wrong)


async def test_unknown_permission_is_not_found(service: Service) -> None:
    for query in ("", "held=nothing"):
        answer = await service.get(path("delete_asset", query))
        assert (answer.status_code, answer.json()) == (
            404,
            {"detail": "There is no permission delete_asset."},
        )
