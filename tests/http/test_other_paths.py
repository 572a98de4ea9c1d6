"""Paths of old clients, doubled slashes, and paths of KoboToolbox that do not exist here. Over HTTP."""

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fieldgate.app import operations
from fieldgate.assets.routes.unsupported_paths import UNSUPPORTED_NAMES, UNSUPPORTED_PATH
from tests.conftest import nightly_only
from tests.imports.workbooks import xlsx
from tests.processes import TIMEOUT_SECONDS, ServerProcess

NOTHING = "There is nothing here."
# Before and after the list of what exists.
UNSUPPORTED = {
    "en": (
        "This service stores forms. It does not collect submissions, so there is no “data” here. "
        "Below an asset there are: ",
        ". All endpoints are listed at /api/v2/.",
    ),
    "fr": (
        "Ce service conserve des formulaires. Il ne collecte pas d'envois\u00a0; "
        "il n'y a donc pas de «\u00a0data\u00a0» ici. "
        "Sous un élément, il y a\u00a0: ",
        ". Toutes les adresses sont listées sous /api/v2/.",
    ),
    "ar": (
        "تحفظ هذه الخدمة النماذج ولا تجمع الإرسالات، ولذلك لا يوجد «data» هنا. يوجد تحت كل أصل: ",
        ". جميع العناوين مدرجة في /api/v2/.",
    ),
    "es": (
        "Este servicio guarda formularios. No recopila envíos, por eso aquí no hay «data». Debajo de un recurso hay: ",
        ". Todas las direcciones figuran en /api/v2/.",
    ),
}


class Client:
    """A client of the demo user, and the uids of its three imports and assets."""

    def __init__(self, served: ServerProcess) -> None:
        self.base_url = served.base_url
        self.token = served.printed_value("token")
        self.http = httpx.Client(timeout=TIMEOUT_SECONDS)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request with exactly this path."""
        headers = {"Authorization": f"Token {self.token}", **options.pop("headers", {})}
        return self.http.request(method, self.base_url + path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> Any:
        response = self.request("GET", path, **options)
        assert response.status_code == 200, response.text
        return response.json()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with ServerProcess(
        tmp_path_factory.mktemp("served"), "--demo", "--import-workers", "1"
    ) as served:
        client = Client(served)
        yield client
        client.http.close()


@pytest.fixture(scope="module")
def imported(client: Client) -> list[dict[str, Any]]:
    """Three imports, each posted to another spelling of the path."""
    paths = ("/imports/", "//imports", "///api/v2/imports/")
    posted = [client.request("POST", path, files={"file": ("form.xlsx", xlsx())}) for path in paths]
    for response in posted:
        assert response.status_code == 201, response.text
        canonical = f"{client.base_url}/api/v2/imports/{response.json()['uid']}/"
        assert (response.json()["url"], response.headers["Location"]) == (canonical, canonical)
    return [
        _wait_until_complete(client, f"/imports/{response.json()['uid']}/") for response in posted
    ]


def _wait_until_complete(client: Client, path: str) -> dict[str, Any]:
    until = time.monotonic() + TIMEOUT_SECONDS
    while True:
        record: dict[str, Any] = client.get(path)
        if record["status"] != "processing":
            assert record["status"] == "complete", record
            return record
        assert time.monotonic() < until
        time.sleep(0.05)


def test_short_and_doubled_paths_are_the_same_resources(
    client: Client, imported: list[dict[str, Any]]
) -> None:
    uid = imported[0]["messages"]["created"][0]["uid"]
    assert imported[0] == client.get(f"/api/v2/imports/{imported[0]['uid']}/")
    paths = [
        "assets/",
        "assets",
        "assets.json",
        f"assets/{uid}/",
        f"assets/{uid}.json",
        f"assets/{uid}/versions/",
    ]
    paths += [
        f"assets/{uid}/permission-assignments/",
        "imports/",
        "imports.json",
        f"imports/{imported[0]['uid']}",
    ]
    for path in paths:
        expected = client.get(f"/api/v2/{path}")
        for prefix in ("/", "//", "///", "//api/v2/", "////api/v2/"):
            assert client.get(prefix + path) == expected, prefix + path
    changed = client.request("PATCH", f"//assets/{uid}", json={"name": "Renamed"})
    assert (changed.status_code, changed.json()["name"]) == (200, "Renamed")
    assert changed.json()["url"] == f"{client.base_url}/api/v2/assets/{uid}/"
    assert client.request("GET", "//").status_code == 200


@pytest.mark.parametrize(
    ("asked", "linked"),
    [
        ("/assets/", "/assets/"),
        ("/assets", "/assets"),
        ("//assets/", "/assets/"),
        ("//api/v2/assets/", "/api/v2/assets/"),
        ("/imports/", "/imports/"),
    ],
)
@pytest.mark.usefixtures("imported")
def test_pagination_keeps_the_path(client: Client, asked: str, linked: str) -> None:
    seen = []
    page = client.get(asked + "?limit=1")
    assert page["next"] == f"{client.base_url}{linked}?limit=1&offset=1"
    while True:
        seen += [record["uid"] for record in page["results"]]
        if page["next"] is None:
            break
        page = client.get(page["next"].removeprefix(client.base_url))
    assert page["previous"] == f"{client.base_url}{linked}?limit=1&offset=1"
    assert seen == [
        record["uid"]
        for record in client.get("/api/v2" + linked.removeprefix("/api/v2"))["results"]
    ]
    assert len(seen) == 3


def test_short_reference_to_an_asset(client: Client, imported: list[dict[str, Any]]) -> None:
    first, second = (each["messages"]["created"][0]["uid"] for each in imported[:2])
    target = f"/assets/{first}/permission-assignments/clone/"
    for reference in (f"/assets/{second}/", f"https://kf.example/assets/{second}"):
        response = client.request("PATCH", target, json={"clone_from": reference})
        assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    "path",
    ["/permissions/", "/api//v2/permissions/", "/%2Fapi/v2/permissions/", "//%2Fapi/v2/permissions/", "//evil.example/",
     "//evil.example/api/v2/permissions/", "//api/v2//permissions/", "/assets//x/", "/assetsx/", "//127.0.0.1/assets/",
     "/api/v2/imports/x/y/z/"],
)  # fmt: skip
def test_other_paths_do_not_exist(client: Client, path: str) -> None:
    response = client.request("GET", path)
    assert (response.status_code, response.json()) == (404, {"detail": NOTHING})


@pytest.mark.parametrize("path", ["//api/v2/permissions/", "///assets/", "//login/", "//"])
def test_pages_have_no_links_to_other_hosts(client: Client, path: str) -> None:
    """A link to `//api/v2/` would lead to the host `api`."""
    page = client.request("GET", path, headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert not re.findall(r"""(?:href|src|action|value)=["']//""", page.text)
    assert "next=//" not in page.text
    assert "next=%2F%2F" not in page.text


@pytest.mark.parametrize(
    "method", ["GET", "POST", "OPTIONS", *nightly_only("PUT", "PATCH", "DELETE")]
)
@pytest.mark.parametrize("language", ["en", "ar", *nightly_only("fr", "es")])
def test_paths_of_collected_data(
    client: Client, imported: list[dict[str, Any]], method: str, language: str
) -> None:
    """The response tells nothing about the asset, nor about who asks."""
    existing = imported[0]["messages"]["created"][0]["uid"]
    prefixes = [
        "",
        "/api/v2",
        *(f"{api}/assets/{uid}" for api in ("", "/", "/api/v2") for uid in (existing, "aUnknown")),
    ]
    before, after = UNSUPPORTED[language]
    details = set()
    for prefix in prefixes:
        for end in (
            "/data",
            "/data/",
            "/data/17/",
            "/data/17/attachments/1/",
            "/data.json",
            "/data/bulk/?limit=1",
        ):
            for credentials in ({}, {"Authorization": ""}):
                response = client.request(
                    method,
                    prefix + end,
                    headers={"Accept-Language": language, **credentials},
                    json={"a": 1},
                )
                assert response.status_code == 404, prefix + end
                assert response.headers["Content-Language"] == language
                details.add(response.json()["detail"])
    (detail,) = details
    assert detail.startswith(before)
    assert detail.endswith(after)
    names = detail.removeprefix(before).removesuffix(after).split(", ")
    assert {"permission-assignments/", "versions/", "xform/"} <= set(names)
    assert {"{uid}.xls", "{uid}.xlsx", "{uid}.xml"} <= set(names)
    names.remove("deployment/")  # nothing is deployed
    paths = [
        f"/assets/{existing}/{name}" if name.endswith("/") else f"/assets/{existing}{name[5:]}"
        for name in names
    ]
    assert all(client.request("GET", path).status_code != 404 for path in paths)


@pytest.mark.parametrize("name", UNSUPPORTED_NAMES)
def test_every_name_of_collected_data(client: Client, name: str) -> None:
    for path in (f"/api/v2/{name}/", f"/api/v2/assets/aUnknown/{name}/"):
        response = client.request("GET", path)
        assert response.status_code == 404
        assert f"there is no “{name}” here" in response.json()["detail"]


def test_wrong_token_is_reported_first(client: Client) -> None:
    assert (
        client.request("GET", "/api/v2/exports/", headers={"Authorization": "Token x"}).status_code
        == 401
    )


def test_no_declared_path_is_named_unsupported() -> None:
    declared = [operation.route.path for operation in operations()]
    assert not [path for path in declared if UNSUPPORTED_PATH.fullmatch(path)]
