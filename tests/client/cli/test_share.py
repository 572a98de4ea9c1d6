"""`share`, `explain` and `permissions` against a real server."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fieldgate_client.cli.exit_codes import UsageError
from fieldgate_client.cli.share import Row, group_rows, read_rows
from hypothesis import given
from hypothesis import strategies as st

from tests.client.cli.conftest import DemoServer, RunClient
from tests.processes import TIMEOUT_SECONDS


@pytest.fixture
def asset(logged_in: DemoServer) -> Iterator[str]:
    """The uid of a form of the demo user."""
    headers = {"Authorization": f"Token {logged_in.token}"}
    with httpx.Client(base_url=logged_in.url, headers=headers, timeout=TIMEOUT_SECONDS) as client:
        created = client.post(
            "/api/v2/assets/", json={"name": "Visit", "asset_type": "survey"}
        ).json()
        yield created["uid"]
        client.delete(f"/api/v2/assets/{created['uid']}/")


def effects(text: str) -> set[tuple[str, str, str]]:
    """User, effect and permission of each row."""
    return {(row.split()[1], row.split()[2], row.split()[3]) for row in text.splitlines()[1:]}


def test_share_and_remove(run: RunClient, asset: str) -> None:
    dry = run("share", asset, "bashir", "view_submissions", "--dry-run")
    assert (dry.code, dry.err) == (0, "Nothing was changed: this was a dry run.\n")
    expected = {("bashir", "granted", "view_submissions"), ("bashir", "granted", "view_asset")}
    assert effects(dry.out) == expected
    assert run("explain", asset, "bashir", "view_submissions").out.startswith(
        "No: bashir, view_submissions"
    )
    done = run("share", asset, "bashir", "view_submissions")
    assert (done.code, done.err, done.out) == (0, "", dry.out)
    explained = run("explain", asset, "bashir", "view_asset")
    assert explained.out.startswith("Yes: bashir, view_asset (View form)\n- ")
    assert run("share", asset, "bashir", "view_asset").out.startswith("Nothing changes")
    removed = run("share", asset, "bashir", "view_asset", "--remove")
    assert effects(removed.out) == {
        ("bashir", "removed", "view_asset"),
        ("bashir", "removed", "view_submissions"),
    }


def test_share_until_a_day(run: RunClient, asset: str) -> None:
    done = run("share", asset, "bashir", "view_asset", "--until", "2099-12-31")
    assert "until 2099-12-31T23:59:59Z" in done.out
    assert "Until 2099-12-31T23:59:59Z." in run("explain", asset, "bashir", "view_asset").out
    row = rf"{asset}  bashir  {{}} +view_asset +{{}}"
    later = run("share", asset, "bashir", "view_asset", "--until", "2100-01-31").out
    assert re.search(row.format("ends", ".*, until 2100-01-31T23:59:59Z"), later)
    more = run("share", asset, "bashir", "change_asset", "--dry-run").out
    assert re.search(row.format("no longer ends", "needed by"), more), (
        "something without an end needs it"
    )
    endless = run("share", asset, "bashir", "view_asset", "--until", "never").out
    assert re.search(row.format("no longer ends", "chosen"), endless)


def test_share_from_csv(run: RunClient, asset: str, logged_in: DemoServer, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    url = f"{logged_in.url}/api/v2/assets/{asset}/"
    file.write_text(
        f"\ufeffAsset, User,Permission\n{url},bashir,change_asset\n\n{asset},AnonymousUser,view_asset\n"
    )
    done = run("share", "--from", file)
    assert done.code == 0, done.err
    assert effects(done.out) == {
        ("bashir", "granted", "change_asset"),
        ("bashir", "granted", "view_asset"),
        ("AnonymousUser", "granted", "view_asset"),
    }


def test_nothing_is_changed_if_one_row_is_wrong(run: RunClient, asset: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    wrong = (
        f"{asset};nobody-here;view_asset",
        f"{asset};AnonymousUser;see_asset",
        "aNothing;bashir;view_asset",
    )
    file.write_text("\n".join(["asset;user;permission", f"{asset};bashir;change_asset", *wrong]))
    done = run("share", "--from", file)
    assert (done.code, done.out) == (1, "")
    first, *lines = done.err.splitlines()
    assert first.endswith("people.csv was not applied; nothing was changed.")
    starts = ("line 3, column user: ", "line 4, column permission: ", "line 5, column asset: ")
    assert [line.startswith(start) for line, start in zip(lines, starts, strict=True)] == [True] * 3
    for word, line in zip(("nobody-here", "see_asset", "aNothing"), lines, strict=True):
        assert word in line
    assert run("explain", asset, "bashir", "change_asset").out.startswith("No")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("asset,user\n", "has no column permission"),
        ("asset,user,permission\n", "has no rows"),
        (
            "asset,user,permission\na,b\na,b,c\n,,c\n",
            "line 2, column permission: is empty.\n.*line 4, column asset: is empty.\n.*line 4, column user: is empty.",
        ),
        ("", "has no column asset or user or permission"),
        ("\udcff", "is not a CSV file in UTF-8"),
    ],
)
def test_wrong_csv(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(UsageError, match=message):
        read_rows(str(file))


def test_wrong_usage(run: RunClient, tmp_path: Path) -> None:
    for arguments in (
        [],
        ["a"],
        ["a", "b"],
        ["a", "b", "--from", "x.csv"],
        ["--from", tmp_path / "none.csv"],
    ):
        done = run("share", *arguments)
        assert (done.code, done.out) == (2, "")


NAMES = st.sampled_from("abc")


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), max_size=30))
def test_grouping_keeps_exactly_the_rows(rows: list[tuple[str, str, str]]) -> None:
    grants = group_rows([Row(*row) for row in rows])
    flat = [
        (grant.asset, user, permission)
        for grant in grants
        for user in grant.users
        for permission in grant.permissions
    ]
    assert sorted(flat) == sorted(set(rows))
    assert sorted(row[:3] for grant in grants for row in grant.rows) == sorted(set(rows))


def test_permissions(run: RunClient, logged_in: DemoServer) -> None:
    done = run("permissions", "--language", "fr")
    header, *rows = done.out.splitlines()
    assert header.split() == ["permission", "implies", "contradicts", "name"]
    assert len(rows) == 10
    assert rows[1].split()[:2] == ["change_asset", "view_asset"]
    assert "Peut modifier" in rows[1]
