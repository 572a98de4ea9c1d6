"""Invalid and hostile input: the field and the message of every error."""

from typing import Any

import pytest

from tests.assets.sharing.sharing_team import (
    PUBLIC,
    SharingTeam,
    last_segment,
    permission_url,
    user_url,
)
from tests.conftest import BASE_URL
from tests.data.accounts import disable_user

VIEW = "view_asset"
PARTIAL = "partial_submissions"
FILTERS = [{"url": "view_submissions", "filters": [{"a": 1}]}]

REQUIRED = "This field is required."
NEEDED = "This field is required with the permission partial_submissions."
CHOICES = "add_submissions, view_submissions, change_submissions, delete_submissions, validate_submissions"
NO_PARTIAL = f"Enter one of these, or its address: {CHOICES}."
WRONG_FILTERS: list[Any] = [None, [], {}, {"a": 1}, "x", [1], [[]], [{}, None]]
NO_FILTERS = "Send a list of at least one query, each an object."
OWNER = "The owner already has every permission; it cannot be assigned or removed."


def no_user(given: str) -> str:
    return f"“{given}” is not a user: enter the address of one, or a username."


def no_permission(given: str) -> str:
    return f"“{given}” is not a permission: enter the address of one, or a codename."


# (request, invalid field, message)
ONE: list[tuple[dict[str, Any], str, str]] = [
    ({"permission": VIEW}, "user", REQUIRED),
    ({"user": "bob"}, "permission", REQUIRED),
    ({"user": None, "permission": VIEW}, "user", REQUIRED),
    ({"user": "", "permission": VIEW}, "user", no_user("")),
    ({"user": ["bob"], "permission": VIEW}, "user", "Enter text."),
    ({"user": 5, "permission": VIEW}, "user", "Enter text."),
    ({"user": "nobody", "permission": VIEW}, "user", "There is no user nobody."),
    ({"user": "gone", "permission": VIEW}, "user", "There is no user gone."),
    ({"user": "bob' OR 1=1; --", "permission": VIEW}, "user", "There is no user bob' OR 1=1; --."),
    ({"user": f"{BASE_URL}/nowhere/bob/", "permission": VIEW}, "user", no_user(f"{BASE_URL}/nowhere/bob/")),
    ({"user": permission_url(VIEW), "permission": VIEW}, "user", no_user(permission_url(VIEW)[:50])),
    ({"user": "http://[", "permission": VIEW}, "user", no_user("http://[")),
    ({"user": "bo\0b", "permission": VIEW}, "user", "Null characters are not allowed."),
    ({"user": "/api/v2/users/bo%00b/", "permission": VIEW}, "user", no_user("/api/v2/users/bo%00b/")),
    ({"user": "x" * 3000, "permission": VIEW}, "user", no_user("x" * 50)),
    ({"user": "bob", "permission": "delete_asset"}, "permission", "There is no permission delete_asset."),
    ({"user": "bob", "permission": user_url("bob")}, "permission", no_permission(user_url("bob"))),
    ({"user": "bob", "permission": "/api/v2/permissions/a/b"}, "permission", no_permission("/api/v2/permissions/a/b")),
    ({"user": "bob", "permission": "discover_asset"}, "permission",
     "discover_asset cannot be assigned on an asset of this type."),
    ({"user": "owner", "permission": VIEW}, "user", OWNER),
    ({"user": PUBLIC, "permission": "change_asset"}, "permission", "The public cannot be given change_asset."),
    ({"user": "bob", "permission": PARTIAL}, "partial_permissions", NEEDED),
    ({"user": "bob", "permission": PARTIAL, "partial_permissions": None}, "partial_permissions", NEEDED),
    ({"user": "bob", "permission": PARTIAL, "partial_permissions": []}, "partial_permissions", NEEDED),
    ({"user": "bob", "permission": PARTIAL, "partial_permissions": {"a": 1}}, "partial_permissions", "Send a list."),
    ({"user": "bob", "permission": PARTIAL, "partial_permissions": "["}, "partial_permissions", "Send a list."),
    *(({"user": "bob", "permission": PARTIAL, "partial_permissions": [{"url": url, "filters": [{}]}]},
       "partial_permissions.0.url", NO_PARTIAL)
      for url in (None, 5, "", "zzz", VIEW, PARTIAL, "manage_asset", user_url("bob"), "/nowhere/")),
    *(({"user": "bob", "permission": PARTIAL, "partial_permissions": [{"url": "view_submissions", "filters": given}]},
       "partial_permissions.0.filters", NO_FILTERS)
      for given in WRONG_FILTERS),
    ({"user": "bob", "permission": PARTIAL, "partial_permissions": [7]}, "partial_permissions.0.url", NO_PARTIAL),
    ({"user": "bob", "permission": PARTIAL,
      "partial_permissions": [{"url": "view_submissions", "filters": [{"a": ["\0"]}]}]},
     "partial_permissions.0.filters", "Null characters are not allowed."),
    ({"user": "bob", "permission": "view_submissions", "partial_permissions": FILTERS}, "partial_permissions",
     "This field is only allowed with the permission partial_submissions."),
]  # fmt: skip


async def test_errors_of_single_assignments_and_lists(team: SharingTeam) -> None:
    await team.add_user("gone")
    await disable_user(team.service, "gone")
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    for body, field, reported in ONE:
        answer = await team.request_assignments(uid, "owner", "POST", json=body)
        assert (answer.status_code, answer.json()[field][0]) == (400, reported), body
        good = {"user": "ann", "permission": VIEW}
        for query in ("", "?dry_run=true"):
            answer = await team.request_assignments(
                uid, "manager", "POST", f"bulk/{query}", json=[good, body, good]
            )
            assert answer.status_code == 400
            assert answer.json()[f"1.{field}"][0] == reported, body
    assert await team.snapshot(uid) == before


async def test_all_errors_of_an_entry_are_reported(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    both = {"user": ["There is no user nobody."], "permission": ["There is no permission nope."]}
    answer = await team.request_assignments(
        uid, "owner", "POST", json={"user": "nobody", "permission": "nope"}
    )
    assert (answer.status_code, answer.json()) == (400, both)
    bad = [{"url": "fly", "filters": []}]
    sent: list[dict[str, Any]] = [
        {"user": "nobody", "permission": "nope"},
        {"user": "nobody", "permission": PARTIAL},
        {"user": "nobody", "permission": PARTIAL, "partial_permissions": bad},
        {"user": 5, "permission": "nope"},
        {"user": "nobody"},
        {"user": "nobody", "permission": "nope", "partial_permissions": 5},
    ]
    answer = await team.request_assignments(uid, "owner", "POST", "bulk/", json=sent)
    assert (answer.status_code, answer.json()) == (400, {
        **{f"0.{field}": reported for field, reported in both.items()},
        "1.user": both["user"],
        "1.partial_permissions": [NEEDED],
        "2.user": both["user"],
        "2.partial_permissions.0.url": [NO_PARTIAL],
        "2.partial_permissions.0.filters": [NO_FILTERS],
        "3.user": ["Enter text."],
        "3.permission": both["permission"],
        "4.user": both["user"],
        "4.permission": [REQUIRED],
        "5.user": both["user"],
        "5.permission": both["permission"],
        "5.partial_permissions": ["Send a list."],
    })  # fmt: skip
    table = f"user,permission,filters\nnobody,nope,\nnobody,{PARTIAL},[]\nnobody,{PARTIAL},\n"
    answer = await team.request_assignments(uid, "owner", "POST", "csv/", json={"text": table})
    assert (answer.status_code, set(answer.json())) == (400, {
        "line 2.user", "line 2.permission", "line 3.user", "line 3.filters", "line 4.user", "line 4.filters",
    })  # fmt: skip


async def test_invalid_lists(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    for sent in (b"{}", b'"x"', b"null", b"5", b""):
        answer = await team.request_assignments(
            uid,
            "owner",
            "POST",
            "bulk/",
            content=sent,
            headers={"Content-Type": "application/json"},
        )
        assert answer.json() == {"detail": "The body must be a JSON array, a list of objects."}
        assert answer.status_code == 400
    for rest in ("", "bulk/", "csv/"):
        sent_as = {"Content-Type": "application/json"}
        assert await team.status(uid, "owner", "POST", rest, content=b"[{", headers=sent_as) == 400
        assert (
            await team.status(
                uid, "owner", "POST", rest, content=b"x", headers={"Content-Type": "text/plain"}
            )
            == 415
        )
    assert await team.status(uid, "owner", "POST", "bulk/", data={"user": "bob"}) == 415
    answer = await team.request_assignments(uid, "owner", "POST", "bulk/", json=[5, "x", None, []])
    assert answer.json() == {str(scope): ["Send an object."] for scope in range(4)}
    pair = [{"user": "bob", "permission": name} for name in ("view_submissions", PARTIAL)]
    pair[1]["partial_permissions"] = FILTERS  # type: ignore[assignment]
    for both in (pair, pair[::-1]):
        answer = await team.request_assignments(uid, "owner", "POST", "bulk/", json=both)
        assert answer.status_code == 400
        assert "contradict each other" in answer.json()["1.permission"][0]
    unknown = [{"user": "bob", "permission": VIEW, "role": "x", "until": 5}]
    answer = await team.request_assignments(
        uid, "owner", "POST", "bulk/?dry_run=true", json=unknown
    )
    assert answer.headers["Fieldgate-Ignored"] == "role, until"
    strict = await team.request_assignments(
        uid, "owner", "POST", "bulk/", json=unknown, headers={"Prefer": "handling=strict"}
    )
    assert (strict.status_code, sorted(strict.json())) == (400, ["role", "until"])
    assert await team.snapshot(uid) == before


async def test_huge_and_deep_bodies(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    many = await team.request_assignments(uid, "owner", "POST", "bulk/", json=[0] * 20_001)
    assert (many.status_code, many.json()) == (
        400,
        {"detail": "Too many entries at once: the limit is 20000."},
    )
    wrong = await team.request_assignments(uid, "owner", "POST", "bulk/", json=[0] * 20_000)
    assert (wrong.status_code, len(wrong.json())) == (400, 100)
    large = await team.request_assignments(
        uid, "owner", "POST", "bulk/", json=[{"user": "x" * 5_000_000}]
    )
    assert large.status_code == 413
    for levels, status in ((44, 201), (60, 400), (5_000, 400)):
        filters = '{"a":' * levels + "{}" + "}" * levels
        partial = '[{"url":"view_submissions","filters":[' + filters + "]}]"
        sent = f'{{"user":"bob","permission":"{PARTIAL}","partial_permissions":{partial}}}'
        answer = await team.request_assignments(
            uid, "owner", "POST", content=sent, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == status, answer.text[:200]
        if levels < 5_000:
            form = {"user": "bob", "permission": PARTIAL, "partial_permissions": partial}
            assert await team.status(uid, "owner", "POST", data=form) == status
    big = [
        {
            "url": "view_submissions",
            "filters": [{"n": 10**40, "é\n\u2028": "'; DROP TABLE assignments; --"}],
        }
    ]
    created = await team.request_assignments(
        uid,
        "owner",
        "POST",
        json={"user": "bob", "permission": PARTIAL, "partial_permissions": big},
    )
    assert created.json()["partial_permissions"][0]["filters"] == big[0]["filters"]
    assert await team.snapshot(uid) != before


async def test_unusual_usernames(team: SharingTeam) -> None:
    uid = await team.create_asset()
    odd = (
        "Éloïse",
        "a b",
        "100%",
        "a/b",
        "x.json",
        "'; DROP TABLE users; --",
        "?a=b#c",
        "ﬁne",
        "@amina",
        "عمر",
        "&<b>",
    )
    for name in odd:
        await team.add_user(name)
        created = await team.request_assignments(
            uid, "owner", "POST", json={"user": name, "permission": VIEW}
        )
        assert created.status_code == 201, name
        for given in (created.json()["user"], name.upper()):
            again = await team.request_assignments(
                uid, "owner", "POST", json={"user": given, "permission": VIEW}
            )
            assert again.json() == created.json(), (name, given)
    table = (await team.request_assignments(uid, "owner", "GET", "csv/")).content
    files = {"file": ("x.csv", table)}
    reported = (
        await team.request_assignments(uid, "owner", "POST", "csv/?mode=replace", files=files)
    ).json()
    assert (reported["counts"], len(reported["result"])) == ({}, len(odd))
    for name in odd:
        cleared = await team.request_assignments(
            uid, "owner", "DELETE", "bulk/", json={"username": name}
        )
        assert cleared.status_code == 204
    assert {last_segment(row["user"]) for row in await team.list_assignments(uid)} == {"owner"}


FORMS = (
    "/api/v2/{}",
    "/api/v2/{}/",
    "https://kf.example.org/api/v2/{}/?format=json",
    "/prefix/api/v2/{}.json",
)


@pytest.mark.parametrize("form", FORMS)
async def test_reference_formats(team: SharingTeam, form: str) -> None:
    uid, other = await team.create_asset(), await team.create_asset()
    body = {"user": form.format("users/bob"), "permission": form.format("permissions/view_asset")}
    assert await team.status(uid, "owner", "POST", json=body) == 201
    assert (
        await team.status(uid, "owner", "DELETE", "bulk/", json={"username": body["user"]}) == 204
    )
    given = form.format(f"assets/{other}")
    assert await team.status(uid, "owner", "PATCH", "clone/", json={"clone_from": given}) == 200


async def test_invalid_clone_requests(team: SharingTeam) -> None:
    uid, hidden, block = (
        await team.create_shared_asset(),
        await team.create_asset(owner="ann"),
        await team.create_asset("block"),
    )
    await team.grant(uid, "bob", "view_submissions")
    before = await team.snapshot(uid)
    itself = "This is the asset itself: nothing would change. Name another one."
    cases: list[tuple[dict[str, Any], int, dict[str, Any]]] = [
        ({}, 400, {"clone_from": [REQUIRED]}),
        ({"clone_from": uid}, 400, {"clone_from": [itself]}),
        ({"clone_from": f"{BASE_URL}/api/v2/assets/{uid}.json"}, 400, {"clone_from": [itself]}),
        (
            {"clone_from": ""},
            400,
            {"clone_from": ["“” is not an asset: enter the address of one, or a uid."]},
        ),
        (
            {"clone_from": "anope"},
            404,
            {"detail": "This form does not exist or is not shared with you."},
        ),
        (
            {"clone_from": hidden},
            404,
            {"detail": "This form does not exist or is not shared with you."},
        ),
    ]
    for body, status, reported in cases:
        for query in ("", "?dry_run=true"):
            answer = await team.request_assignments(
                uid, "manager", "PATCH", f"clone/{query}", json=body
            )
            assert (answer.status_code, answer.json()) == (status, reported)
    assert await team.snapshot(uid) == before
    refused = await team.request_assignments(
        block, "owner", "PATCH", "clone/", json={"clone_from": uid}
    )
    assert refused.status_code == 400
    assert (
        "add_submissions cannot be assigned on an asset of this type."
        in refused.json()["permission"]
    )
    assert {last_segment(row["user"]) for row in await team.list_assignments(block)} == {"owner"}
