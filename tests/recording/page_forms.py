"""The forms of pages, sent as a browser without JavaScript sends them. What a page offers is read from the page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser

import httpx

from tests.recording import workbooks
from tests.recording.recorder import Recorder
from tests.recording.world import PASSWORD, World
from tests.recording.writes import A, FreshObjects, S

# What people type into fields that they must fill, by name of the field
TYPED = {
    "user": "stranger", "users": "stranger", "username": "{new}", "name": "{new}", "recipient": "recipient",
    "to": "viewer", "source": "{household}", "current_password": PASSWORD, "new_password": PASSWORD,
    "repeated": PASSWORD, "confirm": "x", "tag_string": "x,y", "text": "user,permission\nstranger,view_asset\n",
    "who": "stranger", "people": "stranger", "permission": "view_asset", "new_name": "{new}",
}  # fmt: skip
# Caller, kind of fresh object, page
PAGES = (
    ("owner", "asset", f"{A}{{asset}}/"),
    ("viewer", "asset", f"{A}{{asset}}/"),
    ("owner", "deployed", f"{A}{{asset}}/"),
    ("owner", "invite", f"{A}{{asset}}/"),
    ("owner", "child", f"{A}{{collection}}/"),
    ("owner", "asset", f"{A}{{asset}}/{S}"),
    ("viewer", "asset", f"{A}{{asset}}/{S}?leave=1"),
    ("owner", "asset", f"{A}{{asset}}/{S}?change=viewer"),
    ("owner", "asset", f"{A}{{asset}}/{S}?remove=viewer"),
    ("owner", "asset", f"{A}{{asset}}/{S}?user=stranger"),
    ("owner", "versions", f"{A}{{asset}}/versions/{{version}}/"),
    ("owner", "nothing", A),
    ("owner", "deleted", f"{A}deleted/"),
    ("owner", "nothing", f"/api/v2/{S}?user=viewer"),
    ("owner", "nothing", "/api/v2/imports/"),
    ("owner", "import", "/api/v2/imports/{uid}/"),
    ("viewer", "own_token", "/account/"),
    ("owner", "nothing", "/api/v2/service-accounts/"),
    ("team_admin", "account", "/api/v2/service-accounts/{account}/"),
    ("owner", "nothing", "/api/v2/teams/"),
    ("team_admin", "team", "/api/v2/teams/{team}/"),
    ("team_admin", "team", "/api/v2/teams/{team}/?delete=1"),
    ("team_admin", "team", "/api/v2/teams/{team}/members/member/"),
    ("root", "nothing", "/api/v2/users/"),
    ("root", "user_token", "/api/v2/users/{user}/"),
)
LEFT_OUT = ("/logout/", "form=end-sessions", "form=password")  # they end sessions of the world


@dataclass
class PageForm:
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # fields to type into
    files: list[str] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(
        default_factory=list
    )  # a browser sends the one that is pressed


class FormParser(HTMLParser):
    """Collects the forms with method POST, with the values that they have when nothing is changed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self._form: PageForm | None = None
        self._select = ""
        self._options: list[tuple[str, bool]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag == "form" and values.get("method") == "post":
            self._form = PageForm(values.get("action", ""))
            self.forms.append(self._form)
        if self._form is None:
            return
        name = values.get("name", "")
        kind = values.get("type", "text")
        if tag == "select":
            self._select, self._options = name, []
        elif tag == "option" and self._select:
            self._options.append((values.get("value", ""), "selected" in values))
        elif name and tag == "textarea":
            self._form.empty.append(name)
        elif name and tag == "input":
            if kind == "file":
                self._form.files.append(name)
            elif kind in {"checkbox", "radio"}:
                if "checked" in values:
                    self._form.fields.append((name, values.get("value", "on")))
            elif kind == "hidden" or values.get("value"):
                self._form.fields.append((name, values.get("value", "")))
            else:
                self._form.empty.append(name)
        elif name and tag == "button":
            self._form.buttons.append((name, values.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "select" and self._form is not None and self._options:
            chosen = [value for value, is_selected in self._options if is_selected] or [
                self._options[-1][0]
            ]
            self._form.fields.append((self._select, chosen[0]))
            self._select = ""
        elif tag == "form":
            self._form = None


def record_page_forms(world: World) -> Iterator[str]:
    fresh = FreshObjects(world)
    for username, kind, page in PAGES:
        if world.recorder.skips("FORM", page):
            continue
        yield f"{page} as {username}"
        caller = f"{username} session"
        values = fresh.create(kind)
        forms = _forms(world.recorder, caller, page.format(**values))
        actions = dict.fromkeys(_action(form) for form in forms)
        for number, action in enumerate(actions):
            if action in LEFT_OUT:
                continue
            if number > 0:
                values = fresh.create(kind)
            _record_form(world, caller, page, values, action)


def _action(form: PageForm) -> str:
    """What distinguishes the forms of a page: `form=rename`."""
    return form.action.split("#")[0].rsplit("?", 1)[-1]


def _forms(recorder: Recorder, caller: str, path: str) -> list[PageForm]:
    response = recorder.record(
        caller, "GET", f"form: {path}", path, {"Accept": "text/html"}, note="before a form"
    )
    return FormParser(response.text).forms


def _record_form(world: World, caller: str, page: str, values: dict[str, str], action: str) -> None:
    """Send a form without a token, empty, and filled, and confirm it where the page asks; record where that leads."""
    for form in _forms(world.recorder, caller, page.format(**values)):
        if _action(form) == action:
            break
    else:
        return
    without_token = [(name, value) for name, value in form.fields if name != "csrf_token"]
    typed = [(name, TYPED.get(name, "").format(**values)) for name in form.empty]
    send = partial(_send_form, world, caller, f"{page} {action}")
    send(form, without_token + typed)
    if typed:
        send(form, form.fields + [(name, "") for name in form.empty])
    answer = send(form, form.fields + typed)
    if answer.status_code == 200:
        for confirmation in FormParser(answer.text).forms:
            if _action(confirmation) == action and confirmation.fields != form.fields:
                send(confirmation, confirmation.fields)
                return


def _send_form(
    world: World, caller: str, template: str, form: PageForm, fields: list[tuple[str, str]]
) -> httpx.Response:
    recorder = world.recorder
    files = {name: ("form.xlsx", workbooks.household("Sent in a form")) for name in form.files}
    data: dict[str, list[str]] = {}
    for name, value in fields + form.buttons[:1]:
        data.setdefault(name, []).append(value)
    headers = {"Accept": "text/html", "X-CSRFToken": ""}
    path = form.action.split("#")[0]
    response = recorder.record(
        caller, "POST", template, path, headers, data=data, files=files or None
    )
    if location := response.headers.get("location"):
        cookies = [f"{name}={value}" for name, value in response.cookies.items()]
        headers = {
            "Accept": "text/html",
            "Cookie": "; ".join([recorder.callers[caller]["Cookie"], *cookies]),
        }
        path = httpx.URL(location).raw_path.decode()
        if path.startswith("/api/v2/imports/i"):
            world.wait_for_import(caller, path.split("?")[0])
        recorder.record(caller, "GET", f"after {template}", path, headers, note=f"after {template}")
    return response
