"""`/api/v2/users/`: users who can be given permissions; superusers create, invite and change them."""

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.identity import csrf_token
from tests.access.permission_world import PUBLIC_USER, PermissionWorld, WorldUser
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import PASSWORD, create_session, find_user, tokens_of

PATH = "/api/v2/users/"


class Admin:
    """A service with a superuser, who sends a password, and an ordinary user."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)

    async def set_up(self) -> None:
        self.root = await self.world.create_user(username="root", is_superuser=True)
        self.amina = await self.world.create_user(
            username="Amina", first_name="Amina", last_name="Diallo"
        )

    async def link_works(self, secret: str) -> bool:
        return (await self.service.get(f"/invitation/{secret}/")).status_code == 200

    async def send(
        self, method: str, path: str, body: Any = None, by: WorldUser | None = None
    ) -> httpx.Response:
        auth = httpx.BasicAuth((by or self.root).username, PASSWORD)
        return await self.service.request(method, path, json=body, auth=auth)

    async def invite(self, username: str) -> str:
        answer = await self.send("POST", f"{PATH}{username}/invitation/")
        assert answer.status_code == 201, answer.text
        return secret_of(answer.json()["url"])


@pytest.fixture
async def admin(start: StartService, database_url: str) -> AsyncIterator[Admin]:
    async with start(database_url=database_url) as service:
        admin = Admin(service)
        await admin.set_up()
        yield admin


def secret_of(url: str) -> str:
    assert url.startswith(f"{BASE_URL}/invitation/fgi_")
    return url.rstrip("/").rsplit("/", 1)[1]


async def test_user_is_created_with_a_link(admin: Admin) -> None:
    body = {
        "username": "zoe",
        "first_name": " Zoë ",
        "last_name": "Ali",
        "is_ifrc": True,
        "countries": ["ken"],
    }
    answer = await admin.send("POST", PATH, body)
    assert answer.status_code == 201
    record = answer.json()
    assert (record["username"], record["first_name"], record["is_ifrc"], record["is_superuser"]) == (
        "zoe", "Zoë", True, False,
    )  # fmt: skip
    assert (record["countries"], record["is_active"], record["last_login"]) == (["KEN"], True, None)
    assert answer.headers["Location"] == record["url"]
    assert answer.headers["Cache-Control"] == "no-store"
    secret = secret_of(record["invitation"]["url"])
    lifetime = datetime.fromisoformat(record["invitation"]["expires"]) - datetime.now(UTC)
    assert timedelta(hours=23) < lifetime <= timedelta(days=1)
    listed = (await admin.send("GET", f"{PATH}ZOE/")).json()
    assert listed["invitation_expires"] == record["invitation"]["expires"]
    assert secret not in str(listed)
    body = {"password": PASSWORD, "repeated": PASSWORD}
    used = await admin.service.request("POST", f"/invitation/{secret}/", data=body)
    assert used.status_code == 303, used.text
    assert (
        await admin.service.get("/token/", auth=httpx.BasicAuth("Zoe", PASSWORD))
    ).status_code == 200


async def test_user_is_created_with_a_password(admin: Admin) -> None:
    answer = await admin.send(
        "POST", PATH, {"username": "zoe", "password": PASSWORD, "is_superuser": True}
    )
    assert (answer.status_code, answer.json()["invitation"]) == (201, None)
    zoe = httpx.BasicAuth("zoe", PASSWORD)
    assert (await admin.service.get(PATH, auth=zoe)).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"username": "amina"}, "username"),
        ({"username": "AMINA"}, "username"),
        ({"username": "a b"}, "username"),
        ({}, "username"),
        ({"username": "xavier", "password": "short"}, "password"),
        ({"username": "xavier", "first_name": "a\nb"}, "first_name"),
        ({"username": "xavier", "last_name": "x" * 151}, "last_name"),
        ({"username": "xavier", "countries": ["KEN", "XYZ"]}, "countries"),
        ({"username": "xavier", "is_superuser": "perhaps"}, "is_superuser"),
    ],
)
async def test_invalid_users_are_not_created(
    admin: Admin, body: dict[str, Any], field: str
) -> None:
    answer = await admin.send("POST", PATH, body)
    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert (await admin.send("GET", f"{PATH}?status=all")).json()["count"] == 2


async def test_tokens_create_no_credentials(admin: Admin) -> None:
    """A leaked token of a superuser must not become a password."""
    headers = admin.root.headers
    for path, body in ((PATH, {"username": "x"}), (f"{PATH}root/invitation/", None)):
        assert (
            await admin.service.client.post(path, json=body, headers=headers)
        ).status_code == 403
    session = create_session(admin.service, admin.root.id)
    cookie = {"Cookie": f"{SESSION_COOKIE.decode()}={session}"}
    assert (
        await admin.service.client.post(f"{PATH}amina/invitation/", headers=cookie)
    ).status_code == 403
    cookie["X-CSRFToken"] = csrf_token(session)
    assert (
        await admin.service.client.post(f"{PATH}amina/invitation/", headers=cookie)
    ).status_code == 201


async def test_disabled_user_is_locked_out_at_once(admin: Admin) -> None:
    path, headers = f"{PATH}amina/", admin.amina.headers
    secret = await admin.invite("amina")
    disabled = await admin.send("PATCH", path, {"is_active": False})
    assert (disabled.status_code, disabled.json()["is_active"]) == (200, False)
    assert (await admin.service.get(path, headers=headers)).status_code == 401
    assert (
        await admin.service.get("/token/", auth=httpx.BasicAuth("amina", PASSWORD))
    ).status_code == 401
    assert not await admin.link_works(secret)
    assert (await admin.send("POST", f"{path}invitation/")).status_code == 409
    assert (await admin.send("GET", path)).json()["is_active"] is False
    other = await admin.world.create_user()
    assert (await admin.service.get(path, headers=other.headers)).status_code == 404
    assert (await admin.send("PATCH", path, {"is_active": True})).json()["is_active"] is True
    assert (await admin.service.get(path, headers=headers)).status_code == 401, (
        "the token is revoked for good"
    )
    assert (
        await admin.service.get("/token/", auth=httpx.BasicAuth("amina", PASSWORD))
    ).status_code == 200


async def test_own_account_cannot_be_disabled(admin: Admin) -> None:
    answer = await admin.send("PATCH", f"{PATH}ROOT/", {"is_active": False})
    assert answer.status_code == 409
    assert (await admin.send("GET", f"{PATH}root/")).json()["is_active"] is True
    assert (await admin.send("PATCH", f"{PATH}root/", {})).status_code == 200


async def test_user_is_changed(admin: Admin) -> None:
    path = f"{PATH}amina/"
    link = await admin.invite("amina")
    changes = {
        "first_name": " Zoë ",
        "last_name": "",
        "is_superuser": True,
        "is_ifrc": True,
        "countries": ["ken", "KEN"],
    }
    answer = await admin.send("PATCH", path, changes)
    assert answer.status_code == 200
    expected = changes | {"first_name": "Zoë", "countries": ["KEN"]}
    for record in (answer.json(), (await admin.send("GET", path)).json()):
        assert {name: record[name] for name in changes} == expected
    assert (await admin.service.get(PATH, headers=admin.amina.headers)).status_code == 200, (
        "a right works at once"
    )
    assert (await admin.send("PATCH", path, {"is_superuser": False})).json()["first_name"] == "Zoë"
    assert (await admin.service.get(PATH, headers=admin.amina.headers)).status_code == 403
    assert (await admin.send("PATCH", path, {"countries": [], "first_name": None})).json()[
        "countries"
    ] == []
    assert await admin.link_works(link), "a one-time link stays valid"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"first_name": "a\nb"}, "first_name"),
        ({"last_name": "x" * 151}, "last_name"),
        ({"countries": ["KEN", "XYZ"]}, "countries"),
        ({"is_superuser": "perhaps"}, "is_superuser"),
    ],
)
async def test_invalid_changes_of_a_user(admin: Admin, changes: dict[str, Any], field: str) -> None:
    before = (await admin.send("GET", f"{PATH}amina/")).json()
    answer = await admin.send(
        "PATCH", f"{PATH}amina/", {"is_ifrc": True, "is_active": False, **changes}
    )
    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert (await admin.send("GET", f"{PATH}amina/")).json() == before


async def test_last_active_superuser_stays_one(admin: Admin) -> None:
    disabled = await admin.world.create_user(username="former", is_superuser=True)
    await admin.world.disable(disabled)
    refused = await admin.send("PATCH", f"{PATH}root/", {"is_superuser": False, "first_name": "X"})
    assert (refused.status_code, "last active superuser" in refused.json()["detail"]) == (409, True)
    assert (await admin.send("GET", f"{PATH}root/")).json()["first_name"] == ""
    await admin.send("PATCH", f"{PATH}amina/", {"is_superuser": True})
    assert (await admin.send("PATCH", f"{PATH}root/", {"is_superuser": False})).status_code == 200
    assert (await admin.send("PATCH", f"{PATH}root/", {"is_superuser": True})).status_code == 403


async def test_tokens_give_no_rights(admin: Admin) -> None:
    """Rights that a leaked token gave to another account would outlive it."""
    headers = admin.root.headers
    for changes in (
        {"is_superuser": True},
        {"is_ifrc": True},
        {"countries": ["KEN"]},
        {"is_active": True},
    ):
        refused = await admin.service.request(
            "PATCH", f"{PATH}amina/", json=changes, headers=headers
        )
        assert refused.status_code == 403
    named = await admin.service.request(
        "PATCH", f"{PATH}amina/", json={"first_name": "Zoë"}, headers=headers
    )
    assert named.json()["first_name"] == "Zoë"


async def test_tokens_and_sessions_of_others(admin: Admin) -> None:
    path = f"{PATH}AMINA/"
    for _ in range(2):
        create_session(admin.service, admin.amina.id)
    tokens = (await admin.send("GET", f"{path}tokens/")).json()
    assert (tokens["count"], tokens["results"][0]["is_current"]) == (1, False)
    assert "token" not in tokens["results"][0]
    url = tokens["results"][0]["url"]
    assert url.startswith(f"{BASE_URL}{PATH}Amina/tokens/")
    others = url.replace("Amina", "root")
    assert (await admin.send("DELETE", others)).status_code == 404, "a token belongs to one user"
    assert (await admin.send("DELETE", url)).status_code == 204
    assert (await admin.service.get(PATH, headers=admin.amina.headers)).status_code == 401
    assert (await admin.send("DELETE", url)).status_code == 404
    assert (await admin.send("GET", f"{path}sessions/")).json()["count"] == 2
    assert (await admin.send("DELETE", f"{path}sessions/")).status_code == 204
    assert (await admin.send("GET", f"{path}sessions/")).json()["count"] == 0
    assert (await admin.send("GET", f"{PATH}AnonymousUser/tokens/")).status_code == 404


async def test_what_others_see_of_a_user(admin: Admin) -> None:
    """Ordinary users see neither names nor rights, nor whether there is an invitation."""
    await admin.invite("root")
    seen = (await admin.service.get(f"{PATH}root/", headers=admin.amina.headers)).json()
    assert set(seen) == {"url", "username", "date_joined", "public_collection_subscribers_count",
                         "public_collections_count"}  # fmt: skip
    own = (await admin.service.get(f"{PATH}amina/", headers=admin.amina.headers)).json()
    assert set(own) == set(seen)
    public = (await admin.service.get(f"{PATH}AnonymousUser/", headers=admin.root.headers)).json()
    assert set(public) == set(seen)


async def test_list_of_all_users(admin: Admin) -> None:
    carl = await admin.world.create_user(username="carl", last_name="Diallo")
    await admin.world.disable(carl)

    async def names(query: str) -> list[str]:
        answer = await admin.send("GET", f"{PATH}?{query}")
        return [record["username"] for record in answer.json()["results"]]

    assert await names("") == ["Amina", "root"]
    assert await names("status=disabled") == ["carl"]
    assert await names("status=all") == ["Amina", "carl", "root"]
    assert await names("status=all&search=diallo") == ["Amina", "carl"]
    assert await names("status=all&search=dial%25o") == []
    assert (await admin.send("GET", f"{PATH}?status=other")).status_code == 400
    create_session(admin.service, admin.amina.id)
    assert (await admin.send("GET", f"{PATH}amina/")).json()["last_login"] is not None


async def test_search_of_users_ignores_accents_and_variants_of_letters(admin: Admin) -> None:
    async def usernames(search: str) -> list[str]:
        answer = await admin.send("GET", f"{PATH}?search={quote(search)}")
        return [record["username"] for record in answer.json()["results"]]

    zoe = {"username": "zoe", "first_name": "Zoë", "last_name": "N’Diaye"}
    assert (await admin.send("POST", PATH, zoe)).status_code == 201
    for search in ("zoe", "ZOÉ", "n'diaye", "N`DIAYE"):
        assert await usernames(search) == ["zoe"], search
    changed = await admin.send("PATCH", f"{PATH}zoe/", {"first_name": "إيمان"})
    assert changed.status_code == 200
    assert await usernames("ايمان") == await usernames("N'DIAYE") == ["zoe"]
    await admin.send("PATCH", f"{PATH}zoe/", {"last_name": "Çelik"})
    assert await usernames("celik") == await usernames("ایمان") == await usernames("zoe") == ["zoe"]
    assert await usernames("n'diaye") == []
    assert await usernames("zoeÇelik") == [], "each name is searched by itself"
    assert await usernames("ﷺ" * 150) == [], "a letter that becomes several"


@pytest.mark.parametrize("how", ["password", "token", "session"])
async def test_user_who_is_disabled_while_a_body_is_sent(admin: Admin, how: str) -> None:
    """A client can send a body as slowly as it likes, and would keep its access until the end of it."""
    mallory = await admin.world.create_user(username="mallory", is_superuser=True)
    session = create_session(admin.service, mallory.id)
    path, headers, body = {
        "password": (PATH, basic("mallory"), b'"username": "backdoor", "is_superuser": true}'),
        "token": (
            "/api/v2/assets/",
            mallory.headers,
            b'"name": "backdoor", "asset_type": "collection"}',
        ),
        "session": (
            "/api/v2/account/tokens/",
            {"Cookie": f"{SESSION_COOKIE.decode()}={session}", "X-CSRFToken": csrf_token(session)},
            b'"name": "backdoor"}',
        ),
    }[how]

    async def content() -> AsyncIterator[bytes]:
        yield b"{"
        assert (
            await admin.send("PATCH", f"{PATH}mallory/", {"is_active": False})
        ).status_code == 200
        if how != "password":  # which is right again when the account is enabled
            assert (
                await admin.send("PATCH", f"{PATH}mallory/", {"is_active": True})
            ).status_code == 200
        yield body

    headers = {**headers, "Content-Type": "application/json"}
    refused = await admin.service.request("POST", path, headers=headers, content=content())
    assert refused.status_code == 401
    assert find_user(admin.service, "backdoor") is None
    assert tokens_of(admin.service, mallory.id) == []
    await admin.world.enable(mallory)
    assert (await admin.service.get("/api/v2/assets/", headers=mallory.headers)).json()[
        "count"
    ] == 0


def basic(username: str) -> dict[str, str]:
    return {
        "Authorization": "Basic " + base64.b64encode(f"{username}:{PASSWORD}".encode()).decode()
    }


async def test_user_detail_url(admin: Admin) -> None:
    service, world, asking = admin.service, admin.world, admin.amina
    for username in ("Zoë", "a+b@c.d-e_f", "Ецик", "x.y"):
        user = await world.create_user(username=username)
        url = str(httpx.URL(f"{BASE_URL}{PATH}{username}/"))
        answer = await service.get(url, headers=asking.headers)
        record = answer.json()
        assert list(record) == ["url", "username", "date_joined", "public_collection_subscribers_count",
                                "public_collections_count"]  # fmt: skip
        assert (record["username"], record["public_collections_count"]) == (username, 0)
        assert (await service.get(record["url"], headers=asking.headers)).json() == record
        assert (
            await service.get(f"{PATH}{username.upper()}", headers=asking.headers)
        ).json() == record
        assert (
            await service.get(f"{PATH}{username}.json", headers=asking.headers)
        ).json() == record
        collection = await world.create_asset(user, "collection")
        await world.grant(PUBLIC_USER, collection, "view_asset")
        assert (await service.get(url, headers=asking.headers)).json()[
            "public_collections_count"
        ] == 0
        await world.grant(PUBLIC_USER, collection, "discover_asset")
        assert (await service.get(url, headers=asking.headers)).json()[
            "public_collections_count"
        ] == 1


@pytest.mark.parametrize("name", ["AnonymousUser", "anonymoususer", "ANONYMOUSUSER"])
async def test_public_user_cannot_log_in(start: StartService, name: str) -> None:
    async with start() as service:
        for password in ("", PASSWORD):
            basic = await service.get("/token/", auth=httpx.BasicAuth(name, password))
            assert basic.status_code == 401
        body = {"username": name, "password": PASSWORD}
        assert (await service.client.post("/get_auth_token", json=body)).status_code == 400
        assert (await service.client.post("/login/", data=body)).status_code == 401
