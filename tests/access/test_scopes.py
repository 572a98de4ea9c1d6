"""Tokens with scopes and limits: refused without what an operation needs, allowed with it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from fieldgate.app import operations
from fieldgate.events.model import Visibility
from fieldgate.http.operations import AssetLimit, Operation, Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from tests.access.matrix import IN_COLLECTION, PRIVATE, PUBLIC, MatrixContext, calls_of
from tests.access.test_log_of_writes import CALLERS, OTHER_CALLS
from tests.conftest import StartService
from tests.data.accounts import PASSWORD, create_token
from tests.imports.workbooks import xlsx

SCOPES = frozenset(each.value for each in Scope if each not in (Scope.NONE, Scope.ALL))
TOKENS = "/api/v2/account/tokens/"
QUERIES = {"assignment_explanation": {"user": "x", "permission": "view_asset"}}
NEEDS_SCOPE = [each for each in operations() if each.route.scope is not Scope.NONE]


@pytest.fixture
async def context(start: StartService, database_url: str) -> AsyncIterator[MatrixContext]:
    async with start(database_url=database_url) as service:
        context = MatrixContext(service)
        await context.set_up()
        yield context


async def limited(context: MatrixContext, caller: str, **limits: Any) -> dict[str, str]:
    """Headers with a new token of a caller."""
    token = create_token(context.service, context.callers[caller].id, **limits)
    return {"Authorization": f"Bearer {token}"}


def sample_path(operation: Operation, uid: str = "x") -> str:
    return operation.route.path.replace("{uid}", uid).replace("{", "").replace("}", "")


async def test_every_operation_is_refused_without_its_scope(context: MatrixContext) -> None:
    for scope in {each.route.scope for each in NEEDS_SCOPE}:
        headers = await limited(context, "superuser", scopes=SCOPES - {scope.value})
        for operation in (each for each in NEEDS_SCOPE if each.route.scope is scope):
            path, query = sample_path(operation), QUERIES.get(operation.name, {})
            methods = (
                ["GET", "HEAD"] if operation.route.method == "GET" else [operation.route.method]
            )
            for method in methods:
                answer = await context.service.request(method, path, headers=headers, params=query)
                assert answer.status_code == 403, (method, path, answer.status_code, answer.text)
                challenge = f'Bearer error="insufficient_scope", scope="{scope.value}"'
                assert answer.headers["WWW-Authenticate"] == challenge
                assert method == "HEAD" or scope.value in answer.json()["detail"]


async def test_every_operation_is_allowed_with_its_scope(context: MatrixContext) -> None:
    for operation in NEEDS_SCOPE:
        caller = CALLERS.get(operation.name, "superuser")
        call = OTHER_CALLS.get(operation.name) or next(iter(calls_of(operation.name).values()))
        user = context.callers[caller]
        expected = (await call(context, caller)).is_success
        headers = await limited(context, caller, scopes=frozenset({operation.route.scope.value}))
        context.callers[caller] = msgspec.structs.replace(user, headers=headers)
        try:
            answer = await call(context, caller)
        finally:
            context.callers[caller] = user
        assert answer.is_success == expected, (operation.name, answer.text)


async def test_the_scope_of_the_account_shows_no_forms(context: MatrixContext) -> None:
    headers = await limited(context, "owner", scopes=frozenset({"account"}))
    for path in ("/api/v2/account/export/", "/api/v2/assets/", context.shared_asset(PRIVATE).path):
        assert (await context.service.get(path, headers=headers)).status_code == 403
    everything = await limited(context, "owner")
    assert (
        await context.service.get("/api/v2/account/export/", headers=everything)
    ).status_code == 200


async def test_a_token_that_is_limited_to_assets(context: MatrixContext) -> None:
    """Everything about another asset is refused, and what the token is for is the same as without a limit."""
    own, other = context.shared_asset(PRIVATE), context.shared_asset(PUBLIC)
    headers = await limited(context, "superuser", assets=frozenset({own.uid}))
    for operation in NEEDS_SCOPE:
        route, query = operation.route, QUERIES.get(operation.name, {})
        answer = await context.service.request(
            route.method, sample_path(operation, other.uid), headers=headers, params=query
        )
        if route.asset_limit is AssetLimit.REFUSED:
            assert answer.status_code == 403, (operation.name, answer.text)
        elif route.asset_limit is AssetLimit.PATH:
            assert answer.status_code == 404, (operation.name, answer.text)
            if route.method == "GET":
                mine = sample_path(operation, own.uid)
                full = await context.request("superuser", "GET", mine, params=query)
                got = await context.service.get(mine, headers=headers, params=query)
                assert got.status_code == full.status_code, (operation.name, got.text)


async def test_lists_counts_and_searches_have_only_the_assets_of_the_token(
    context: MatrixContext,
) -> None:
    own, other = context.shared_asset(PRIVATE), context.shared_asset(PUBLIC)
    headers = await limited(context, "owner", assets=frozenset({own.uid}))
    for query in (
        "",
        "?q=asset_type:survey",
        f"?q=uid:{own.uid}",
        "?limit=1",
        "?status=private",
        "?format=api",
    ):
        everything = await context.request("owner", "GET", f"/api/v2/assets/{query}")
        answer = await context.service.get(f"/api/v2/assets/{query}", headers=headers)
        assert (everything.status_code, answer.status_code) == (200, 200)
        assert other.uid not in answer.text
        if query != "?format=api":
            assert answer.json()["count"] <= 1
    assert (await context.service.get("/api/v2/assets/", headers=headers)).json()["results"][0][
        "uid"
    ] == own.uid
    review = await context.service.get("/api/v2/permission-assignments/?limit=500", headers=headers)
    assert {each["asset"].split("/")[-2] for each in review.json()["results"]} == {own.uid}
    body = {
        "assets": [own.uid, other.uid],
        "users": ["AnonymousUser"],
        "permissions": ["view_asset"],
    }
    for path in ("add", "remove"):
        answer = await context.service.request(
            "POST", f"/api/v2/permission-assignments/{path}/", json=body, headers=headers
        )
        assert answer.status_code == 404
    clone = await context.service.request(
        "PATCH",
        f"{own.path}permission-assignments/clone/",
        json={"clone_from": other.uid},
        headers=headers,
    )
    assert clone.status_code == 404


async def import_into(
    context: MatrixContext, headers: dict[str, str], **fields: str
) -> httpx.Response:
    file = {"file": ("household.xlsx", xlsx())}
    return await context.service.request(
        "POST", "/api/v2/imports/", files=file, data=fields, headers=headers
    )


async def test_a_limited_token_imports_into_its_assets_only(context: MatrixContext) -> None:
    own, other = context.shared_asset(PRIVATE), context.shared_asset(PUBLIC)
    full = {**context.owner.headers, "Idempotency-Key": "nightly"}
    foreign = await import_into(context, full, destination=other.uid)
    headers = await limited(context, "owner", assets=frozenset({own.uid}))
    for fields in ({}, {"destination": other.uid}):
        repeated = {
            **headers,
            "Idempotency-Key": "nightly",
        }  # it gets no answer of an earlier request either
        assert (await import_into(context, repeated, **fields)).status_code == 403
    assert (await context.service.get(foreign.json()["url"], headers=headers)).status_code == 404
    accepted = await import_into(context, headers, destination=own.uid)
    assert accepted.status_code == 201
    assert (await context.service.get(accepted.json()["url"], headers=headers)).status_code == 200


async def test_a_token_for_a_collection_deletes_and_restores_no_other_assets(
    context: MatrixContext,
) -> None:
    async def create(**body: str) -> str:
        answer = await context.request(
            "owner", "POST", "/api/v2/assets/", json={"name": "WASH", **body}
        )
        return str(answer.json()["uid"])

    collection = await create(asset_type="collection")
    form = await create(asset_type="survey", parent=collection)
    path = f"/api/v2/assets/{collection}/"
    alone = await limited(context, "owner", assets=frozenset({collection}))
    both = await limited(context, "owner", assets=frozenset({collection, form}))
    for method, call in (("DELETE", path), ("POST", f"{path}undelete/")):
        refused = await context.service.request(method, call, headers=alone)
        assert (refused.status_code, refused.json()["detail"]) == (
            403,
            "This token is not for all forms in the collection.",
        )
        assert (await context.service.request(method, call, headers=both)).is_success
    assert (await context.request("owner", "GET", f"/api/v2/assets/{form}/")).status_code == 200


async def test_a_token_for_a_collection_shares_no_other_assets(context: MatrixContext) -> None:
    """What a collection is shared with, its forms are shared with, too."""
    created = await context.request(
        "owner", "POST", "/api/v2/assets/", json={"name": "WASH", "asset_type": "collection"}
    )
    collection = created.json()["uid"]
    sharing = f"/api/v2/assets/{collection}/permission-assignments/"
    empty = await limited(context, "owner", assets=frozenset({collection}))
    body = {"user": context.callers["stranger"].username, "permission": "view_asset"}
    assert (
        await context.service.request("POST", sharing, json=body, headers=empty)
    ).status_code == 201
    inside = await context.request(
        "owner", "POST", "/api/v2/assets/", json={"name": "Visit", "parent": collection}
    )
    form = inside.json()["uid"]
    batch = {"assets": [collection], "users": [body["user"]], "permissions": ["change_asset"]}
    table = {"text": f"user,permission\n{body['user']},change_asset\n", "mode": "add"}
    writes: list[tuple[str, str, Any]] = [
        ("POST", sharing, {**body, "permission": "change_asset"}),
        ("POST", f"{sharing}?dry_run=true", {**body, "permission": "change_asset"}),
        ("POST", f"{sharing}bulk/", []),
        ("PATCH", f"{sharing}bulk/", {"user": body["user"], "permissions": ["change_asset"]}),
        ("DELETE", f"{sharing}bulk/", {"username": body["user"]}),
        ("POST", f"{sharing}csv/", table),
        ("POST", "/api/v2/permission-assignments/add/", batch),
        (
            "POST",
            "/api/v2/permission-assignments/remove/",
            {**batch, "permissions": ["view_asset"]},
        ),
    ]
    for method, path, sent in writes:
        refused = await context.service.request(method, path, json=sent, headers=empty)
        assert refused.status_code == 403, (method, path, refused.text)
        assert refused.json()["detail"] == "This token is not for all forms in the collection."
    both = await limited(context, "owner", assets=frozenset({collection, form}))
    assert (
        await context.service.request("POST", sharing, json=writes[0][2], headers=both)
    ).status_code == 201


async def test_a_superusers_limited_token_writes_nothing_else(context: MatrixContext) -> None:
    """Events, users and the account are not about its assets either."""
    user = context.callers["superuser"]
    own = await context.create_asset(PRIVATE)
    headers = await limited(context, "superuser", assets=frozenset({own.uid}))
    tried = set()
    for operation in (each for each in NEEDS_SCOPE if each.writes):
        calls = [*calls_of(operation.name).values(), OTHER_CALLS.get(operation.name)]
        for call in filter(None, calls):
            context.callers["superuser"] = msgspec.structs.replace(user, headers=headers)
            try:
                answer = await call(context, "superuser")
            finally:
                context.callers["superuser"] = user
            if answer.request.headers.get("Authorization") == headers["Authorization"]:
                tried.add(operation.name)
                assert answer.status_code in (403, 404), (operation.name, answer.text)
    assert {
        "event_replacement",
        "event_deletion",
        "user_change",
        "asset_creation",
        "asset_change",
    } <= tried
    assert (await context.request("superuser", "GET", "/api/v2/event/1/")).status_code == 200


async def test_a_superusers_limited_token_reads_what_others_read(context: MatrixContext) -> None:
    own, service = context.shared_asset(PRIVATE), context.service
    hidden = {
        "name": "Hidden",
        "disaster_start_date": "2026-07-14",
        "visibility": int(Visibility.SECRETARIAT),
    }
    answer = await context.request("superuser", "PUT", "/api/v2/event/2/", json=hidden)
    assert answer.status_code == 201, answer.text
    headers = await limited(context, "superuser", assets=frozenset({own.uid}))
    everything, disabled = (
        context.callers["superuser"].headers,
        context.callers["disabled"].username,
    )
    for path in ("/api/v2/event/2/", f"/api/v2/users/{disabled}/"):
        assert (await service.get(path, headers=everything)).status_code == 200
        assert (await service.get(path, headers=headers)).status_code == 404
    listed = (await service.get("/api/v2/event/", headers=headers)).json()["results"]
    assert [event["id"] for event in listed] == [1]
    path = f"/api/v2/users/{context.owner.username}/"
    full = (await service.get(path, headers=everything)).json()
    seen = (await service.get(path, headers=headers)).json()
    assert seen == (await service.get(path, headers=context.callers["viewer"].headers)).json()
    assert len(seen) < len(full)
    await context.request("owner", "PATCH", own.path, json={"name": "Household survey"})
    for name in ("permission-assignments/", "permission-assignments/history/"):
        seen = (await service.get(own.path + name, headers=headers)).json()
        assert seen == (await context.request("owner", "GET", own.path + name)).json()
    origins = (await service.get(f"{own.path}history/", headers=headers)).json()["results"]
    assert origins
    assert {entry["metadata"]["ip_address"] for entry in origins} == {None}
    team = context.callers["team"]
    review = await service.get("/api/v2/permission-assignments/?limit=500", headers=headers)
    assert disabled not in review.text
    assert team.username not in review.text
    question = {"user": context.callers["superuser"].username, "permission": "view_asset"}
    explained = await service.get(
        f"{own.path}permission-assignments/explain/", params=question, headers=headers
    )
    assert explained.json()["allowed"] is True


async def test_a_limited_token_does_not_name_the_collection_around_its_form(
    context: MatrixContext,
) -> None:
    inside, service = context.shared_asset(IN_COLLECTION), context.service
    assert inside.parent is not None
    other = await context.world.create_asset(context.owner, "survey", inside.parent)
    cloned = f"{inside.path}permission-assignments/clone/"
    assert (
        await context.request("owner", "PATCH", cloned, json={"clone_from": other.uid})
    ).is_success
    for caller in ("owner", "superuser", "viewer"):
        form = await limited(context, caller, assets=frozenset({inside.uid}))
        both = await limited(context, caller, assets=frozenset({inside.uid, inside.parent.uid}))
        assert (await service.get(inside.path, headers=form)).json()["parent"] is None
        assert (
            (await service.get(inside.path, headers=both))
            .json()["parent"]
            .endswith(inside.parent.path)
        )
        if caller != "superuser":  # whose list has only what is shared
            [listed] = (await service.get("/api/v2/assets/", headers=form)).json()["results"]
            assert (listed["uid"], listed["parent"]) == (inside.uid, None)
            for query, count in ((f"parent:{inside.parent.uid}", (0, 1)), ("parent:null", (1, 1))):
                found = [
                    (
                        await service.get("/api/v2/assets/", params={"q": query}, headers=each)
                    ).json()["count"]
                    for each in (form, both)
                ]
                assert tuple(found) == count, query
        paths = ["", "permission-assignments/"]
        if caller != "viewer":
            paths += ["history/", "permission-assignments/history/"]
        for path in paths:
            answer = await service.get(inside.path + path, headers=form)
            assert answer.status_code == 200
            assert inside.parent.uid not in answer.text, path
            assert other.uid not in answer.text, path
            page = await service.get(inside.path + path, headers={**form, "Accept": "text/html"})
            assert inside.parent.uid not in page.text, path
            assert other.uid not in page.text, path
        record = (await service.get(inside.parent.path, headers=both)).json()
        assert record["children"]["count"] == 1
        everything = (await context.request(caller, "GET", inside.parent.path)).json()
        assert everything["children"]["count"] == 2, other.uid


async def test_a_token_for_a_collection_previews_no_deletion_of_others(
    context: MatrixContext,
) -> None:
    """Forms of others leave a collection that is deleted, so the token must be for these, too."""
    collection = await context.world.create_asset(context.owner, "collection")
    form = await context.world.create_asset(context.callers["stranger"], "survey", collection)
    headers = await limited(context, "owner", assets=frozenset({collection.uid}))
    for query in ("?dry_run=true", ""):
        refused = await context.service.request("DELETE", collection.path + query, headers=headers)
        assert refused.status_code == 403, refused.text
        assert form.uid not in refused.text
    assert (await context.request("owner", "GET", collection.path)).status_code == 200


async def test_a_token_that_is_limited_to_networks(context: MatrixContext) -> None:
    here = await limited(context, "owner", networks=("127.0.0.0/8", "2001:db8::/32"))
    elsewhere = await limited(context, "owner", networks=("192.0.2.0/24",))
    for path in ("/api/v2/assets/", "/api/v2/permissions/", "/"):
        assert (await context.service.get(path, headers=here)).status_code == 200
        assert (await context.service.get(path, headers=elsewhere)).status_code == 403


async def test_pages_are_checked_and_leave_out_what_the_token_is_not_for(
    context: MatrixContext,
) -> None:
    own = context.shared_asset(PRIVATE)
    headers = {
        **await limited(context, "owner", assets=frozenset({own.uid})),
        "Accept": "text/html",
    }
    for path in (
        "/",
        "/?q=x",
        own.path,
        f"{own.path}permission-assignments/",
        "/api/v2/assets/",
        "/api/v2/event/",
    ):
        answer = await context.service.get(path, headers=headers)
        assert answer.status_code == 200, (path, answer.text)
    assert (await context.service.get("/account/", headers=headers)).status_code == 403


async def test_creating_a_token_with_limits(context: MatrixContext) -> None:
    auth = httpx.BasicAuth(context.owner.username, PASSWORD)
    uid = context.shared_asset(PRIVATE).uid
    body = {
        "name": "Power BI",
        "scopes": ["read"],
        "assets": [uid],
        "networks": ["10.1.2.3", "2001:db8::1/32", "::ffff:192.0.2.0/120", "::/0"],
    }
    created = await context.service.request("POST", TOKENS, json=body, auth=auth)
    record = created.json()
    assert created.status_code == 201, created.text
    assert (record["scopes"], record["assets"]) == (["read"], [uid])
    assert record["networks"] == ["10.1.2.3/32", "2001:db8::/32", "192.0.2.0/24", "::/0"]
    [listed] = [
        each
        for each in (await context.service.get(TOKENS, auth=auth)).json()["results"]
        if each["name"]
    ]
    assert listed == {each: record[each] for each in record if each != "token"}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"scopes": ["fly"]}, "scopes"), ({"scopes": []}, "scopes"), ({"scopes": ["admin"]}, "scopes"),
        ({"assets": ["../x"]}, "assets"), ({"networks": ["example.org"]}, "networks"),
        ({"assets": []}, "assets"), ({"networks": []}, "networks"),  # no list without a limit
    ]  # fmt: skip
    for wrong, field in refused:
        answer = await context.service.request(
            "POST", TOKENS, json={"name": "x", **wrong}, auth=auth
        )
        assert (answer.status_code, [each.split(".")[0] for each in answer.json()]) == (
            400,
            [field],
        )
    by_token = {"Authorization": f"Token {record['token']}"}
    assert (
        await context.service.request("POST", TOKENS, json={"name": "x"}, headers=by_token)
    ).status_code == 403


async def test_explain_says_whether_the_token_lacks_a_scope(context: MatrixContext) -> None:
    own = context.shared_asset(PRIVATE)
    headers = await limited(context, "owner", scopes=frozenset({"read"}))
    for permission, missing in (
        ("view_asset", None),
        ("change_asset", "imports"),
        ("manage_asset", "sharing"),
    ):
        query = {"user": context.owner.username, "permission": permission}
        answer = await context.service.get(
            f"{own.path}permission-assignments/explain/", params=query, headers=headers
        )
        assert (answer.json()["allowed"], answer.json()["missing_scope"]) == (True, missing)


def test_an_operation_without_a_scope_cannot_be_declared() -> None:
    async def removal() -> None: ...

    make: Any = Routes
    for options in ({}, {"scope": Scope.READ}):
        declare = make(tag="x", **options).delete(
            "/x/", title=Message("x"), description=Message("x")
        )
        with pytest.raises(TypeError, match="does not declare which scope"):
            declare(removal)
