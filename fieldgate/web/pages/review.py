"""Who can use my forms: people and teams down, forms across, and removing people from several forms at once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.assets.schemas import TEAMS_PATH
from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions.catalogue import PARTIAL, implied
from fieldgate.permissions.labels import short_label
from fieldgate.web.page_views import (
    FormErrors,
    FormPreview,
    FormResult,
    Page,
    Pages,
    Redirect,
    SubmittedForm,
)
from fieldgate.web.pages.sharing_people import (
    PERMISSION_ORDER,
    PUBLIC_USERNAME,
    ShownEffect,
    TeamNames,
    asset_uid,
    codename,
    display_name,
    show_effect,
    username,
)

pages = Pages()

REVIEW_PATH = "/api/v2/permission-assignments/"
MAX_PEOPLE, MAX_FORMS = 50, 20  # in the table; more are shown as a list
MAX_RECORDS = 1000
FILTERS = (
    "user",
    "team",
    "asset",
    "owner",
    "permission",
    "inherited",
    "expires_before",
    "not_seen_since",
    "ordering",
)
# A person who loses these has nothing left: all others imply one of them.
EVERYTHING = ("view_asset", "add_submissions", "discover_asset")
MARKS = {
    "view_asset": "○",
    "discover_asset": "◎",
    "change_asset": "✎",
    "add_submissions": "+",
    "view_submissions": "▤",
    PARTIAL: "◐",
    "change_submissions": "✐",
    "validate_submissions": "✓",
    "delete_submissions": "✗",
    "manage_asset": "★",
}


class AccessCell(msgspec.Struct, frozen=True):
    """What a person can do with a form: marks, and the same in words."""

    marks: str
    labels: tuple[str, ...]
    ends: str  # the first end, if there is one


class AccessRow(msgspec.Struct, frozen=True):
    username: str  # of a team: `team:` and its uid
    name: str
    last_seen: str | None
    cells: list[AccessCell | None]


class AccessTable(msgspec.Struct, frozen=True):
    forms: list[tuple[str, str]]  # uids and names
    people: list[AccessRow]
    legend: list[tuple[str, str]]  # marks and labels


class ShownRemoval(msgspec.Struct, frozen=True):
    """What one person loses on one form."""

    person: str
    form: str
    effects: list[ShownEffect]


class UsedForm(msgspec.Struct, frozen=True):
    """A form that a person can use, and how."""

    uid: str
    name: str
    cell: AccessCell


async def load_used_forms(name: str, language: Language, api: InternalAPI) -> list[UsedForm]:
    """Return what is shared with a person, of the forms that the caller manages."""
    found = await api.get(REVIEW_PATH, {"user": name, "ordering": "asset", "limit": MAX_RECORDS})
    by_form: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in found["results"]:
        by_form.setdefault((each["asset__uid"], each["asset__name"]), []).append(each)
    made = (
        (uid, title, _make_cell(records, language)) for (uid, title), records in by_form.items()
    )
    return [UsedForm(uid, title, cell) for uid, title, cell in made if cell is not None]


@pages.show("assignment_review", "sharing/review.html")
async def load_review(page: Page, api: InternalAPI) -> dict[str, Any]:
    record, query = page.record, page.request.query_params
    filters = {name: query[name] for name in FILTERS if query.get(name)}
    everything = record
    if record["count"] > len(record["results"]):
        wanted = {**filters, "limit": MAX_RECORDS}
        everything = await api.get(REVIEW_PATH, wanted) if record["count"] <= MAX_RECORDS else None
    table = None if everything is None else _make_table(everything["results"], page.language)
    form = page.form
    changes = form.values.get("record") if form is not None else None
    return {
        "filters": filters,
        "table": table,
        "rows": [_list_row(each, page.language) for each in record["results"]],
        "team_paths": _team_paths((everything or record)["results"]),
        "removals": None if changes is None else _show_removals(changes, table, page.language),
    }


def _holder(record: Mapping[str, Any]) -> str:
    return username(record.get("user") or record["team"])


def _team_names(records: Iterable[Mapping[str, Any]]) -> TeamNames:
    return {_holder(each): each["team__name"] or "" for each in records if "team" in each}


def _team_paths(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the pages of the teams that the caller can see."""
    return {
        each: f"{TEAMS_PATH}{each.removeprefix(TEAM_PREFIX)}/"
        for each, name in _team_names(records).items()
        if name
    }


def _label(permission: str, language: Language) -> str:
    return short_label(
        permission, "collection" if permission == "discover_asset" else "survey", language
    )


def _list_row(record: Mapping[str, Any], language: Language) -> dict[str, Any]:
    holder, what = _holder(record), _label(codename(record["permission"]), language)
    return {
        **record,
        "holder": holder,
        "name": display_name(holder, language, _team_names([record])),
        "what": what,
    }


def _make_table(records: Sequence[Mapping[str, Any]], language: Language) -> AccessTable | None:
    """Return the table, or None if it would be too large."""
    forms = {each["asset__uid"]: each["asset__name"] for each in records}
    seen, teams = {_holder(each): each["last_seen"] for each in records}, _team_names(records)
    if not records or len(forms) > MAX_FORMS or len(seen) > MAX_PEOPLE:
        return None
    cells: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in records:
        cells.setdefault((_holder(each), each["asset__uid"]), []).append(each)
    columns = sorted(forms.items(), key=lambda item: (collation_key(item[1], language), item[0]))
    shown = {name: display_name(name, language, teams) for name in seen}

    def order(name: str) -> tuple[Any, ...]:  # teams, people, the public
        return (
            name == PUBLIC_USERNAME,
            name not in teams,
            collation_key(shown[name], language),
            name,
        )

    people = [
        AccessRow(
            name,
            shown[name],
            seen[name],
            [_make_cell(cells.get((name, uid), ()), language) for uid, _ in columns],
        )
        for name in sorted(seen, key=order)
    ]
    used = {codename(each["permission"]) for each in records}
    legend = [(MARKS[each], _label(each, language)) for each in PERMISSION_ORDER if each in used]
    return AccessTable(columns, people, legend)


def _make_cell(records: Sequence[Mapping[str, Any]], language: Language) -> AccessCell | None:
    held = {codename(each["permission"]) for each in records}
    shown = [
        each
        for each in PERMISSION_ORDER
        if each in held and not any(each in implied(other) for other in held)
    ]
    ends = sorted(each["expires_at"] for each in records if "expires_at" in each)
    if not shown:
        return None
    marks, labels = (
        "".join(MARKS[each] for each in shown),
        tuple(_label(each, language) for each in shown),
    )
    return AccessCell(marks, labels, ends[0] if ends else "")


def _show_removals(
    record: Mapping[str, Any], table: AccessTable | None, language: Language
) -> list[ShownRemoval]:
    names = dict(table.forms) if table is not None else {}
    people = {each.username: each.name for each in table.people} if table is not None else {}
    grouped: dict[tuple[str, str], list[ShownEffect]] = {}
    for each in record["effects"]:
        key = username(each["user"]), asset_uid(each["asset"])
        grouped.setdefault(key, []).append(show_effect(each, language))
    return [
        ShownRemoval(people.get(name) or display_name(name, language), names.get(uid, uid), effects)
        for (name, uid), effects in grouped.items()
    ]


@pages.form("assignment_review", "remove", confirm_field="do")
async def remove(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Remove people from forms; `do=remove` after the preview."""
    people, forms = form.get_all("users"), form.get_all("assets")
    if not people or not forms:
        return FormErrors(
            {
                "": [
                    translate(
                        Message("Choose at least one person or team and one form in the table."),
                        form.language,
                    )
                ]
            }
        )
    is_preview = form.get("do") != "remove"
    body = {"assets": [*forms], "users": [*people], "permissions": EVERYTHING}
    query = {"dry_run": "true"} if is_preview else {}
    record = await api.call("POST", f"{REVIEW_PATH}remove/", query=query, json=body)
    if is_preview:
        return FormPreview({"record": record})
    return Redirect(REVIEW_PATH, Message("The access was removed."))
