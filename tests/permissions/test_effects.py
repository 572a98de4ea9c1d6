"""`/api/v2/permissions/{codename}/effects/`: what assigning would do, without any asset."""

from typing import Any

import pytest

from fieldgate.i18n.languages import Language
from tests.conftest import BASE_URL, Service
from tests.permissions.permission_strategies import ASSIGNABLE, has_contradiction, with_implied

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


@pytest.mark.parametrize("asset_type", ASSIGNABLE)
async def test_effects_of_every_pair_on_every_type(service: Service, asset_type: str) -> None:
    for held in sorted(ASSIGNABLE[asset_type]):
        for codename in sorted(ASSIGNABLE[asset_type]):
            record = await effects(service, codename, f"held={held}&asset_type={asset_type}")
            before, after = with_implied([held], asset_type), bare(record["result"])
            assert bare(record["held"]) == sorted(before)
            assert after == sorted(after)
            assert with_implied([codename], asset_type) <= set(after)
            assert not has_contradiction(after)
            told = {(each["permission"], each["effect"]) for each in record["effects"]}
            assert told == {(f"{URL}/{each}/", "granted") for each in set(after) - before} | {
                (f"{URL}/{each}/", "removed") for each in before - set(after)
            }


async def test_held_is_empty_or_has_blanks(service: Service) -> None:
    plain = await effects(service, "change_asset")
    assert (plain["held"], bare(plain["result"])) == ([], ["change_asset", "view_asset"])
    assert await effects(service, "change_asset", "held=") == plain
    assert await effects(service, "change_asset", "held=,%20,") == plain
    assert await effects(service, "change_asset", "asset_type=survey") == plain
    same = await effects(service, "change_asset", "held=view_asset,%20change_asset,view_asset")
    assert (same["effects"], same["held"]) == ([], same["result"])


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "view_submissions: granted, implied by manage_asset."),
        ("fr", "view_submissions : accordée, impliquée par manage_asset."),
        ("es", "view_submissions: concedido, implícito en manage_asset."),
        ("ar", "view_submissions: مُنح، إذ يستلزمه manage_asset."),
    ],
)
async def test_messages_are_translated(service: Service, language: str, expected: str) -> None:
    headers = {"Accept-Language": language}
    answer = await service.get(path("manage_asset", "held=partial_submissions"), headers=headers)
    messages = {each["message"] for each in answer.json()["effects"]}
    assert expected in messages
    assert len(messages) == len(answer.json()["effects"]) == 8
    assert answer.headers["Content-Language"] == language


@pytest.mark.parametrize(
    ("codename", "query", "wrong"),
    [
        ("view_asset", "held=nothing", {"held": ["There is no permission nothing."]}),
        (
            "view_asset", "held=b,view_asset,a",
            {"held": ["There is no permission a.", "There is no permission b."]},
        ),
        (
            "view_asset", "held=discover_asset,x",
            {"held": ["There is no permission x.", "discover_asset cannot be assigned on an asset of this type."]},
        ),
        (
            "view_asset", "held=view_submissions,partial_submissions",
            {"held": ["partial_submissions and view_submissions contradict each other: assign one of them."]},
        ),
        (
            "view_asset", "held=manage_asset,partial_submissions",
            {"held": ["manage_asset and partial_submissions contradict each other: assign one of them."]},
        ),
        (
            "discover_asset", "",
            {"asset_type": ["discover_asset cannot be assigned on an asset of this type."]},
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
    french = await service.get(path(codename, query), headers={"Accept-Language": "fr"})
    assert french.json().keys() == wrong.keys()
    assert french.json() != wrong


async def test_number_of_held_permissions_is_limited(service: Service) -> None:
    twenty = ",".join(map(str, range(20)))
    answer = await service.get(path("view_asset", f"held={twenty}"))
    assert (answer.status_code, len(answer.json()["held"])) == (400, 20)
    thousands = ",".join(map(str, range(3_000)))
    answer = await service.get(path("view_asset", f"held={thousands}"))
    assert (answer.status_code, answer.json()) == (400, {"held": ["Name at most 20 permissions."]})


async def test_unknown_permission_is_not_found(service: Service) -> None:
    for query in ("", "held=nothing"):
        answer = await service.get(path("delete_asset", query))
        assert (answer.status_code, answer.json()) == (404, {"detail": "There is no permission delete_asset."})


async def test_etag_and_formats(service: Service) -> None:
    first = await service.get(path("change_asset"))
    again = await service.get(path("change_asset"), headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    assert (await service.get(path("change_asset")[:-1])).json() == first.json()
    assert (await service.get(path("change_asset")[:-1] + ".json")).json() == first.json()
    linked = (await service.get(path("change_asset", "format=json"))).json()
    assert linked["permission"] == f"{URL}/change_asset/?format=json"
    assert linked["effects"][1]["because"] == f"{URL}/change_asset/?format=json"


@pytest.mark.parametrize(
    ("language", "loses", "because"),
    [
        (Language.ENGLISH, "Loses:", "not possible together with “Validate submissions”"),
        (Language.FRENCH, "Perd\u00a0:", "impossible avec «\u00a0Valider des envois\u00a0»"),
        (Language.SPANISH, "Pierde:", "no es posible junto con «Validar envíos»"),
        (Language.ARABIC, "يفقد:", "لا يمكن جمعه مع «التحقق من صحة الإرسالات»"),
    ],
)
async def test_page_has_a_list_of_effects(service: Service, language: Language, loses: str, because: str) -> None:
    query = "held=partial_submissions&format=api"
    page = (await service.get(path("validate_submissions", query), headers={"Accept-Language": language.value})).text
    assert f'dir="{language.direction}"' in page
    removed = page.split('<li class="removed">')[1].split("</li>")[0]
    assert loses in removed
    assert because in removed
    assert page.count('<li class="granted">') == 2


async def test_page_without_effects(service: Service) -> None:
    page = (await service.get(path("view_asset", "held=change_asset&format=api"))).text
    assert "Nothing would change: the permission is already held." in page
