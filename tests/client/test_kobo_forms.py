"""Importing and sharing on a server like KoboToolbox, with the client for scripts."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fieldgate_client import (
    Client,
    ConnectionFailed,
    InvalidRequest,
    NotFound,
    RequestFailed,
    ServerFailed,
    UnexpectedResponse,
    UnknownName,
    UnsupportedByServer,
    forms,
)

from tests.client.quick_retries import QUICK
from tests.client.stand_ins.kobo import TOKEN
from tests.client.stand_ins.kobo_forms import KoboForms
from tests.client.stand_ins.loopback_server import ReceivedRequest, Reply, json_reply
from tests.imports.workbooks import xlsx

BOOK = xlsx()
ASSIGNMENTS = "/api/v2/assets/aForm/permission-assignments/"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "FIRST_PAUSE", 0.001)


@pytest.fixture
def kobo() -> Iterator[KoboForms]:
    stand_in = KoboForms()
    with stand_in.server:
        yield stand_in


@pytest.fixture
def client(kobo: KoboForms) -> Iterator[Client]:
    with Client(kobo.server.base_url, TOKEN, options=QUICK) as opened:
        yield opened


@pytest.fixture
def form(tmp_path: Path) -> Path:
    path = tmp_path / "Household 2.0 visit.xlsx"
    path.write_bytes(BOOK)
    return path


def test_a_form_is_a_form_with_the_name_of_its_file(
    kobo: KoboForms, client: Client, form: Path
) -> None:
    seen: list[str] = []
    [asset] = client.import_form(form, on_status=lambda record: seen.append(record.status))
    assert (asset.name, asset.asset_type) == ("Household 2.0 visit", "survey")
    assert seen == ["created", "processing", "complete"]
    [named] = client.import_form(form, name="Survey 3.1 final")
    [block] = client.import_form(form, library=True)
    assert (named.name, block.asset_type) == ("Survey 3.1 final", "block")
    [updated] = client.import_form(form, asset)
    assert updated.uid == asset.uid
    assert [each.get("library") for each in kobo.uploads] == ["false", "false", "true", "false"]
    assert kobo.uploads[-1]["destination"] == f"{kobo.server.base_url}/api/v2/assets/{asset.uid}/"


def test_an_import_is_never_sent_twice(kobo: KoboForms, client: Client, form: Path) -> None:
    """It has no Idempotency-Key: a second request would be a second form."""

    def drop_answers(request: ReceivedRequest) -> None:
        if request.method == "POST":
            raise ConnectionResetError

    kobo.after = drop_answers
    with pytest.raises(ConnectionFailed, match="not known whether the server received") as lost:
        client.import_form(form)
    assert kobo.writes() == [("POST", "/api/v2/imports/")]
    assert "attempts" not in lost.value.message
    kobo.after = lambda request: None
    kobo.before = lambda request: (
        json_reply({"detail": "busy"}, 503) if request.method == "POST" else None
    )
    with pytest.raises(ServerFailed, match="busy"):
        client.import_form(form)
    assert len(kobo.writes()) == 2


def test_an_answer_that_is_no_import(kobo: KoboForms, client: Client, form: Path) -> None:
    for reply in (
        Reply(201, b"{}"),
        Reply(200, b"<html>", content_type="text/html"),
        Reply(201, b'{"uid": 5}'),
    ):
        kobo.before = lambda request, reply=reply: reply if request.method == "POST" else None  # type: ignore[misc]
        with pytest.raises(UnexpectedResponse) as failed:
            client.import_form(form)
        assert failed.value.status in (200, 201)


def test_ctrl_c_ends_the_wait(kobo: KoboForms, client: Client, form: Path) -> None:
    kobo.looks = [-1_000_000]
    kobo.results, kobo.uploads = [{}], [{}]
    with pytest.raises(KeyboardInterrupt):
        client.wait_for_import("i0", on_status=lambda record: os.kill(os.getpid(), signal.SIGINT))
    kobo.looks = [99]
    assert client.wait_for_import("i0").assets == []


def test_sharing_is_one_request_each(kobo: KoboForms, client: Client) -> None:
    shared = client.share("aForm", ["bob", "omar"], "change_asset", "view_submissions")
    assert kobo.writes() == [("POST", ASSIGNMENTS)] * 4
    assert kobo.permissions_of("bob") == {"change_asset", "view_submissions", "view_asset"}
    effects = [(each.username, each.codename, each.effect) for each in shared.effects]
    assert effects[1:3] == [
        ("bob", "view_submissions", "granted"),
        ("omar", "change_asset", "granted"),
    ]
    assert shared.dry_run is False


def test_removing_also_removes_what_depends_on_it(kobo: KoboForms, client: Client) -> None:
    client.share("aForm", "bob", "manage_asset")
    client.share(
        "aForm", ["bob", "omar"], "view_asset", "change_asset", "add_submissions", remove=True
    )
    assert kobo.permissions_of("bob") == set()
    deleted = [path for method, path in kobo.writes() if method == "DELETE"]
    assert len(deleted) == 3, "omar had none"
    with pytest.raises(RequestFailed, match="Owner's permissions cannot be deleted"):
        client.share("aForm", "amina", "view_asset", remove=True)


def test_a_dry_run_is_refused_before_anything_is_sent(kobo: KoboForms, client: Client) -> None:
    with pytest.raises(UnsupportedByServer, match=r"dry_run\). Nothing was sent"):
        client.share("aForm", "bob", "view_asset", dry_run=True)
    with pytest.raises(UnsupportedByServer, match=r"until\). Nothing was sent"):
        client.share("aForm", "bob", "view_asset", until="2099-12-31")
    assert kobo.writes() == []
    with pytest.raises(UnsupportedByServer):
        client.explain("aForm", "bob", "view_asset")


@pytest.mark.parametrize(
    ("user", "permission", "message"),
    [
        (["bob", "nobody"], "view_asset", "no user 'nobody'. Nothing was changed"),
        ("bob", "view_assets", "no permission 'view_assets'. Nothing was changed"),
    ],
)
def test_misspelt_names_change_nothing(
    kobo: KoboForms, client: Client, user: str | list[str], permission: str, message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        client.share("aForm", user, permission)
    with pytest.raises(NotFound):
        client.share(["aForm", "aOther"], "bob", "view_asset")
    with pytest.raises(InvalidRequest, match="needs filters"):
        client.share("aForm", "bob", "partial_submissions")
    assert kobo.writes() == []


def test_a_refusal_in_the_middle_names_what_was_done(kobo: KoboForms, client: Client) -> None:
    with pytest.raises(InvalidRequest) as stopped:
        client.share("aForm", ["bob", "amina", "omar"], "view_asset")
    assert (kobo.permissions_of("bob"), kobo.permissions_of("omar")) == ({"view_asset"}, set())
    assert str(stopped.value) == (
        "user: Owner's permissions cannot be assigned explicitly This was for view_asset of amina on aForm. "
        "Done before: view_asset of bob on aForm. (status 400)"
    )


def test_a_lost_answer_is_repeated_as_it_changes_nothing(kobo: KoboForms, client: Client) -> None:
    losses = iter([True, False, True, True])

    def drop_some(request: ReceivedRequest) -> None:
        if request.method != "GET" and next(losses, False):
            raise ConnectionResetError

    kobo.after = drop_some
    assert len(client.share("aForm", ["bob", "omar"], "view_asset").effects) == 2
    assert len(kobo.writes()) == 5
    losses = iter([True])
    assert len(client.share("aForm", "bob", "view_asset", remove=True).effects) == 1
    assert kobo.permissions_of("bob") == set()
