"""Lists of assets from a served process, as clients of KoboToolbox read them."""

from collections.abc import AsyncIterator, Iterator
from math import ceil
from typing import Any

import httpx
import pytest

from tests.data.accounts import PASSWORD
from tests.imports.workbooks import SURVEY, xlsx
from tests.openapi_checker import OpenAPIChecker
from tests.processes import TIMEOUT_SECONDS, ServerProcess, run_command

PATH = "/api/v2/assets/"
LIBRARY = (
    ("block", "type", "name", "label", "tag:health", "tag:old"),
    ("visit", "text", "a", "Who?", "yes", ""),
    ("visit", "text", "b", "When?", "yes", ""),
    (None, "text", "c", "Where?", "", "yes"),
)
# All keys that KoboToolbox has in a list, and the further ones of a detail.
LIST_KEYS = {
    "url", "date_created", "date_modified", "date_deployed", "owner", "summary", "owner__username", "parent", "uid",
    "tag_string", "settings", "kind", "name", "asset_type", "version_id", "has_deployment", "deployed_version_id",
    "deployment__active", "deployment__submission_count", "deployment__last_submission_time",
    "deployment__encrypted", "deployment__uuid", "deployment_status", "permissions", "export_settings", "downloads",
    "data", "subscribers_count", "status", "access_types", "children", "data_sharing", "owner_label",
    "last_modified_by", "created_by",
}  # fmt: skip
DETAIL_KEYS = LIST_KEYS | {
    "files", "version__content_hash", "version_count", "deployed_versions", "deployment__links",
    "deployment__data_download_links", "report_styles", "report_custom", "advanced_features", "map_styles",
    "map_custom", "content", "embeds", "analysis_form_json", "xform_link", "hooks_link", "xls_link",
    "assignable_permissions", "effective_permissions", "exports", "paired_data", "project_ownership",
}  # fmt: skip


class ServedAssets:
    """A served process with the assets of amina, and omar, who sees two of them."""

    def __init__(self, served: ServerProcess, tokens: dict[str, str]) -> None:
        self.served = served
        self.tokens = tokens

    def headers(self, user: str) -> dict[str, str]:
        return {"Authorization": f"Token {self.tokens[user]}"} if user else {}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAssets]:
    data = tmp_path_factory.mktemp("served-assets")
    tokens = {}
    for user in ("amina", "omar"):
        assert (
            run_command(
                "user", "create", user, "--password-stdin", data=data, stdin=PASSWORD
            ).returncode
            == 0
        )
        tokens[user] = run_command("token", "create", user, data=data).stdout.strip()
    with ServerProcess(data, "--import-workers", "1") as process, process.client() as client:
        client.headers["Authorization"] = f"Token {tokens['amina']}"
        for book, fields in (
            (xlsx(), {"name": "Household visit"}),
            (xlsx(), {"name": "Market 100%"}),
            (xlsx(), {"name": "École primaire", "desired_type": "template"}),
            (xlsx(library=LIBRARY), {"name": "Health library", "library": "true"}),
            (xlsx(survey=SURVEY[:2]), {"name": "One question", "library": "true"}),
        ):
            sent = client.post("/api/v2/imports/", files={"file": ("form.xlsx", book)}, data=fields)
            while (record := client.get(sent.json()["url"]).json())["status"] == "processing":
                pass
            assert record["status"] == "complete", record
        for name in ("Household visit", "Health library"):
            [asset] = client.get(PATH, params={"q": f'name:"{name}"'}).json()["results"]
            given = {"user": "omar", "permission": "view_asset"}
            assert (
                client.post(f"{asset['url']}permission-assignments/", json=given).status_code == 201
            )
        yield ServedAssets(process, tokens)


@pytest.fixture
async def client(served: ServedAssets) -> AsyncIterator[httpx.AsyncClient]:
    hooks = {"response": [OpenAPIChecker.for_operations([]).check]}
    async with httpx.AsyncClient(
        base_url=served.served.base_url,
        headers=served.headers("amina"),
        event_hooks=hooks,
        timeout=TIMEOUT_SECONDS,
    ) as opened:
        yield opened


async def test_records_have_all_keys_of_kobotoolbox(client: httpx.AsyncClient) -> None:
    listed = (await client.get(PATH)).json()["results"]
    assert len(listed) == 7
    for asset in listed:
        assert set(asset) >= LIST_KEYS
        detail = (await client.get(asset["url"])).json()
        assert set(detail) >= DETAIL_KEYS
        same = LIST_KEYS - {"permissions"}  # a detail shows more of them
        assert {key: detail[key] for key in same} == {key: asset[key] for key in same}


async def test_forms_look_like_drafts_without_submissions(client: httpx.AsyncClient) -> None:
    by_type: dict[str, dict[str, Any]] = {}
    for asset in (await client.get(PATH)).json()["results"]:
        assert (asset["has_deployment"], asset["deployment__active"]) == (False, False)
        assert (
            asset["deployment__submission_count"],
            asset["deployment__last_submission_time"],
        ) == (0, None)
        assert asset["deployment_status"] == ("draft" if asset["asset_type"] == "survey" else "-")
        assert asset["data"] == f"{asset['url']}data/"
        assert (asset["owner_label"], asset["created_by"], asset["last_modified_by"]) == (
            "amina",
        ) * 3
        assert (await client.get(asset["data"])).status_code == 404
        by_type[asset["asset_type"]] = asset
    bases = {kind: asset["url"].rstrip("/") for kind, asset in by_type.items()}
    formats = {
        kind: [each["format"] for each in asset["downloads"]] for kind, asset in by_type.items()
    }
    assert formats == {
        "survey": ["xls", "xlsx", "xml"],
        "template": ["xls", "xlsx", "xml"],
        "block": ["xls", "xlsx"],
        "question": ["xls", "xlsx"],
        "collection": [],
    }
    for kind, asset in by_type.items():
        assert all(each["url"] == f"{bases[kind]}.{each['format']}" for each in asset["downloads"])
    detail = (await client.get(by_type["survey"]["url"])).json()
    assert detail["xls_link"] == f"{bases['survey']}.xls"
    for key in ("data", "hooks_link", "exports", "paired_data"):
        assert (await client.get(detail[key])).status_code == 404
    assert detail["deployed_versions"] == {
        "count": 0,
        "next": None,
        "previous": None,
        "results": [],
    }
    assert (await client.get(by_type["collection"]["url"])).json()["xls_link"] is None


async def test_children_and_access_types_of_collections(
    client: httpx.AsyncClient, served: ServedAssets
) -> None:
    for user, access in (("amina", ["owned"]), ("omar", ["shared"])):
        headers = served.headers(user)
        listed = (await client.get(PATH, headers=headers)).json()["results"]
        [collection] = [asset for asset in listed if asset["asset_type"] == "collection"]
        assert (collection["children"], collection["access_types"]) == ({"count": 2}, access)
        assert (await client.get(collection["url"], headers=headers)).json()["children"] == {
            "count": 2
        }
        others = [asset for asset in listed if asset["asset_type"] != "collection"]
        assert all(
            asset["children"] == {"count": 0} and asset["access_types"] is None for asset in others
        )


async def test_only_own_permissions(client: httpx.AsyncClient, served: ServedAssets) -> None:
    for user, count in (("omar", {1}), ("amina", {3, 4, 8})):
        both = [
            (await client.get(PATH, params=parameters, headers=served.headers(user))).json()[
                "results"
            ]
            for parameters in ({}, {"current_user_permissions_only": "true"})
        ]
        for everything, own in zip(*both, strict=True):
            expected = [
                each for each in everything["permissions"] if each["user"].endswith(f"/{user}/")
            ]
            assert own["permissions"] == expected
            assert len(expected) in count
            assert {**own, "permissions": []} == {**everything, "permissions": []}
    assert any(len(each["permissions"]) > 1 for each in both[0])
    refused = await client.get(PATH, params={"current_user_permissions_only": "maybe"})
    assert refused.status_code == 400


async def test_collections_first(client: httpx.AsyncClient) -> None:
    async def names(**parameters: str) -> list[str]:
        return [
            each["name"] for each in (await client.get(PATH, params=parameters)).json()["results"]
        ]

    for ordering in ("name", "-name", "date_modified", "-date_modified"):
        plain = await names(ordering=ordering)
        first = await names(ordering=ordering, collections_first="true")
        assert first == ["Health library", *(name for name in plain if name != "Health library")]
        assert await names(ordering=ordering, collections_first="false") == plain
        pages = [
            await names(ordering=ordering, collections_first="true", limit="3", page=str(n))
            for n in (1, 2, 3)
        ]
        assert [name for page in pages for name in page] == first


async def test_pages_by_number(client: httpx.AsyncClient) -> None:
    """Walking by page number returns each record once, and so does following `next` from any of the pages."""
    for path in (PATH, "/api/v2/permissions/", "/api/v2/imports/", "/api/v2/country/"):
        everything = (await client.get(path, params={"limit": "1000"})).json()
        for size in (1, 3, 50) if everything["count"] < 20 else (100, 50):
            found: list[Any] = []
            for number in range(1, ceil(everything["count"] / size) + 1):
                page = (
                    await client.get(path, params={"page": str(number), "page_size": str(size)})
                ).json()
                assert page["count"] == everything["count"]
                if page["next"]:
                    assert f"limit={size}&offset={number * size}" in page["next"]
                    assert "page" not in page["next"].partition("?")[2]
                found += page["results"]
            assert found == everything["results"]
    offset = (await client.get(PATH, params={"page": "2", "page_size": "3", "offset": "5"})).json()
    assert (
        offset["results"]
        == (await client.get(PATH, params={"limit": "3", "offset": "5"})).json()["results"]
    )
    for name in ("page", "page_size"):
        for value in ("0", "-1", "x"):
            refused = await client.get(PATH, params={name: value})
            assert (refused.status_code, list(refused.json())) == (400, [name])
