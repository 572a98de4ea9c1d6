"""Importing and sharing on a server like KoboToolbox, with the client for scripts."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fieldgate_client import (
    Client,
    ConnectionFailed,
    ImportFailed,
    InvalidRequest,
    NotAuthenticated,
    NotFound,
    ServerFailed,
    SharingIncomplete,
    UnexpectedResponse,
    UnknownName,
    UnsupportedByServer,
    forms,
)
from fieldgate_client.sharing_records import SharingStep

from tests.client.quick_retries import QUICK
from tests.client.stand_ins.kobo_forms import TOKEN, KoboForms
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


def test_a_form_is_a_form_with_the_name_of_its_file(kobo: KoboForms, client: Client, form: Path) -> None:
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


def test_errors_are_texts_without_places(client: Client, form: Path) -> None:
    form.write_bytes(b"no workbook")
    with pytest.raises(ImportFailed) as failed:
        client.import_form(form)
    assert str(failed.value) == "Unsupported format, or corrupt file"
    assert failed.value.record.messages["error_type"] == "XlsFormatException"
    assert failed.value.problems == []


def test_a_dump_of_all_urls_is_cut(kobo: KoboForms, client: Client, form: Path) -> None:
    def forget_destination(request: ReceivedRequest) -> Reply | None:
        for result in kobo.results:
            result.update(error="<URLPattern…>, " * 1000, error_type="Resolver404")
        return None

    kobo.before = forget_destination
    with pytest.raises(ImportFailed) as failed:
        client.import_form(form)
    assert len(str(failed.value)) == 2000


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
    kobo.before = lambda request: json_reply({"detail": "busy"}, 503) if request.method == "POST" else None
    with pytest.raises(ServerFailed, match="busy"):
        client.import_form(form)
    assert len(kobo.writes()) == 2


def test_an_answer_that_is_no_import(kobo: KoboForms, client: Client, form: Path) -> None:
    for reply in (Reply(201, b"{}"), Reply(200, b"<html>", content_type="text/html"), Reply(201, b'{"uid": 5}')):
        kobo.before = lambda request, reply=reply: reply if request.method == "POST" else None  # type: ignore[misc]
        with pytest.raises(UnexpectedResponse) as failed:
            client.import_form(form)
        assert failed.value.status in (200, 201)


def test_the_uid_of_an_import_stays_in_its_path(kobo: KoboForms, client: Client, form: Path) -> None:
    reply = json_reply({"uid": "../../admin/?x=", "status": "processing"}, 201)
    kobo.before = lambda request: reply if request.method == "POST" else None
    with pytest.raises(NotFound):
        client.import_form(form)
    assert kobo.server.requests[-1].target == "/api/v2/imports/..%2F..%2Fadmin%2F%3Fx%3D/"


def test_the_token_is_not_sent_elsewhere(kobo: KoboForms, client: Client, form: Path) -> None:
    with KoboForms().server as other:
        target = Reply(307, headers=(("Location", other.base_url + "/api/v2/imports/"),))
        kobo.before = lambda request: target if request.method == "POST" else None
        with pytest.raises(ConnectionFailed, match="redirects to"):
            client.import_form(form)
        assert other.requests == []


def test_ctrl_c_ends_the_wait(kobo: KoboForms, client: Client, form: Path) -> None:
    kobo.looks = [-1_000_000]
    kobo.results, kobo.uploads = [{}], [{}]
    with pytest.raises(KeyboardInterrupt):
        client.wait_for_import("i0", on_status=lambda record: os.kill(os.getpid(), signal.SIGINT))
    kobo.looks = [99]
    assert client.wait_for_import("i0").assets == []


def test_an_error_in_a_callback_ends_the_import(kobo: KoboForms, client: Client, form: Path) -> None:
    def fail(sent: int, total: int) -> None:
        raise RuntimeError("callback")

    with pytest.raises(RuntimeError, match="callback"):
        client.import_form(form, on_progress=fail)
    assert kobo.uploads == []


def test_a_form_is_downloaded(kobo: KoboForms, client: Client, form: Path, tmp_path: Path) -> None:
    [asset] = client.import_form(form)
    target = tmp_path / "copy.xlsx"
    assert client.download_form(asset, target) == target
    assert target.read_bytes() == BOOK


def test_sharing_is_one_request_each(kobo: KoboForms, client: Client) -> None:
    shared = client.share("aForm", ["bob", "omar"], "change_asset", "view_submissions")
    assert kobo.writes() == [("POST", ASSIGNMENTS)] * 4
    assert kobo.permissions_of("bob") == {"change_asset", "view_submissions", "view_asset"}
    assert shared.counts == {"granted": 6}
    effects = [(each.username, each.codename, each.effect, each.reason) for each in shared.effects]
    assert effects[:3] == [
        ("bob", "change_asset", "granted", "asked"),
        ("bob", "view_asset", "granted", None),
        ("bob", "view_submissions", "granted", "asked"),
    ]
    assert shared.result[1].username == "omar"
    assert shared.result[1].codenames == ["change_asset", "view_asset", "view_submissions"]
    again = client.share("aForm", "bob", "change_asset")
    assert (again.effects, again.counts) == ([], {})


def test_removing_also_removes_what_depends_on_it(kobo: KoboForms, client: Client) -> None:
    client.share("aForm", "bob", "manage_asset")
    removed = client.share("aForm", ["bob", "omar"], "view_asset", "change_asset", "add_submissions", remove=True)
    assert kobo.permissions_of("bob") == set()
    assert removed.counts == {"removed": 8}
    assert removed.dry_run is False
    deleted = [path for method, path in kobo.writes() if method == "DELETE"]
    assert len(deleted) == 3, "omar had none"


def test_a_permission_that_another_one_contradicts_is_lost(kobo: KoboForms, client: Client) -> None:
    kobo.held["aForm"] |= {("bob", "partial_submissions"): "p1", ("bob", "view_asset"): "p2"}
    shared = client.share("aForm", "bob", "view_submissions")
    effects = [(each.codename, each.effect, each.reason) for each in shared.effects]
    assert effects == [("view_submissions", "granted", "asked"), ("partial_submissions", "removed", None)]
    with pytest.raises(SharingIncomplete, match="cannot be assigned explicitly to Asset objects of this type"):
        client.share("aForm", "bob", "discover_asset")
    with pytest.raises(SharingIncomplete, match="Owner's permissions cannot be deleted"):
        client.share("aForm", "amina", "view_asset", remove=True)


def test_without_a_token(kobo: KoboForms, form: Path) -> None:
    with Client(kobo.server.base_url, options=QUICK) as client:
        assert len(client.permissions()) == 10
        with pytest.raises(NotAuthenticated, match="credentials were not provided"):
            client.import_form(form)


def test_a_dry_run_is_refused_before_anything_is_sent(kobo: KoboForms, client: Client) -> None:
    with pytest.raises(UnsupportedByServer, match=r"dry_run\). Nothing was sent"):
        client.share("aForm", "bob", "view_asset", dry_run=True)
    assert kobo.writes() == []
    for call in (lambda: client.explain("aForm", "bob", "view_asset"), lambda: client.what_if(assign="view_asset")):
        with pytest.raises(UnsupportedByServer):
            call()


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


def test_a_refusal_in_the_middle_is_reported_exactly(kobo: KoboForms, client: Client) -> None:
    with pytest.raises(SharingIncomplete) as stopped:
        client.share("aForm", ["bob", "amina", "omar"], "view_asset")
    error = stopped.value
    steps = [SharingStep("aForm", user, "view_asset") for user in ("bob", "amina", "omar")]
    assert (error.done, error.failed, error.not_sent, error.is_unknown) == (steps[:1], steps[1], steps[2:], False)
    assert (kobo.permissions_of("bob"), kobo.permissions_of("omar")) == ({"view_asset"}, set())
    assert str(error).splitlines() == [
        "Not everything was done: user: Owner's permissions cannot be assigned explicitly (status 400)",
        "refused: view_asset of amina on aForm",
        "done: view_asset of bob on aForm",
        "not sent: view_asset of omar on aForm",
    ]


def test_a_lost_answer_is_repeated_as_it_changes_nothing(kobo: KoboForms, client: Client) -> None:
    losses = iter([True, False, True, True])

    def drop_some(request: ReceivedRequest) -> None:
        if request.method != "GET" and next(losses, False):
            raise ConnectionResetError

    kobo.after = drop_some
    assert client.share("aForm", ["bob", "omar"], "view_asset").counts == {"granted": 2}
    assert len(kobo.writes()) == 5
    losses = iter([True])
    assert client.share("aForm", "bob", "view_asset", remove=True).counts == {"removed": 1}
    assert kobo.permissions_of("bob") == set()


def test_a_server_that_goes_away_leaves_an_unknown_step(kobo: KoboForms, client: Client) -> None:
    def drop_for_omar(request: ReceivedRequest) -> None:
        if b"omar" in request.body:
            raise ConnectionResetError

    kobo.after = drop_for_omar
    with pytest.raises(SharingIncomplete) as stopped:
        client.share("aForm", ["bob", "omar"], "view_asset", "change_asset")
    assert [each.user for each in stopped.value.done] == ["bob", "bob"]
    assert stopped.value.is_unknown
    assert "no answer, maybe done: view_asset of omar on aForm" in str(stopped.value)
    assert [str(each) for each in stopped.value.not_sent] == ["change_asset of omar on aForm"]


def test_a_result_that_cannot_be_read(kobo: KoboForms, client: Client) -> None:
    def fail_after_write(request: ReceivedRequest) -> Reply | None:
        return json_reply({"detail": "gone"}, 404) if request.method == "GET" and kobo.writes() else None

    kobo.before = fail_after_write
    with pytest.raises(SharingIncomplete, match="Everything was done, but") as stopped:
        client.share("aForm", "bob", "view_asset")
    assert (len(stopped.value.done), stopped.value.failed, stopped.value.not_sent) == (1, None, [])
