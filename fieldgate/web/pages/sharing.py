"""The sharing page: who can use an asset, the forms that change it, and why a person can do something."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.assets.schemas import TEAMS_PATH
from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.pagination_links import parse_integer
from fieldgate.http.search_grammar import quote_phrase
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL, implied
from fieldgate.permissions.labels import short_label
from fieldgate.permissions.sentences import describe_submissions, isolate
from fieldgate.permissions.submission_filters import PARTIALLY_GRANTABLE
from fieldgate.web.formatting import Formatter
from fieldgate.web.page_views import FormState, Page, Pages
from fieldgate.web.pages.form_preview import offer_forms
from fieldgate.web.pages.sharing_filters import FilterFields, from_filters, read_fields
from fieldgate.web.pages.sharing_forms import (
    ASSETS_PATH,
    DRY_RUN,
    SharingState,
    load_state,
    name_teams,
    update_choices,
)
from fieldgate.web.pages.sharing_people import (
    MAX_LISTED_PEOPLE,
    PUBLIC_USERNAME,
    AssetAccess,
    SharedWith,
    ShownChange,
    asset_uid,
    codename,
    display_name,
    group_people,
    is_assigned,
    kept_by_teams,
    sentence_name,
    username,
)

pages = Pages()

SUGGESTIONS_PATH = "/api/v2/permission-assignments/suggestions/"
MAX_SUGGESTED = 200  # people and teams to share with
MAX_LISTED_MEMBERS = 20  # of a team
MAX_SOURCES = 100  # forms to copy from, in the list of a page


class PermissionBox(msgspec.Struct, frozen=True):
    """A checkbox of the sharing form."""

    codename: str
    label: str
    is_ticked: bool
    gives: tuple[str, ...]  # what ticking it ticks, itself included
    takes: tuple[str, ...]  # what ticking it unticks
    is_for_everyone: bool  # the public can have it, too
    needed_by: str  # the label of a chosen permission that implies it
    not_with: tuple[str, ...]  # labels


class ShareForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form that shares an asset with a person, or changes what a person can do."""

    name: str  # share or change
    user: str
    user_in_sentence: str
    is_everyone: bool
    choices: tuple[str, ...]  # from which it follows what is ticked; see `ticked_permissions`
    boxes: list[PermissionBox]
    filter_fields: FilterFields
    until: str  # a day; empty if there is no end, or several
    end: str  # the time on that day
    partial_actions: list[tuple[str, str]]  # codenames and labels
    preview: ShownChange | None
    is_preview: bool


@pages.show("assignment_list", "sharing/people.html")
async def load_sharing(page: Page, api: InternalAPI) -> dict[str, Any]:
    state = await load_state(page.request.path_values["uid"], page.language, api)
    asset, query = state.asset, page.request.query_params
    others = [person for person in state.people if not person.is_owner]
    first = (max(1, parse_integer(query.get("people", "")) or 1) - 1) * MAX_LISTED_PEOPLE
    listed = state.people[first : first + MAX_LISTED_PEOPLE]
    values: dict[str, Any] = {
        "asset": asset,
        "people": listed,
        "members": await _load_members(listed, api),
        "leaves_out_members": state.leaves_out_members,
        "people_page": first // MAX_LISTED_PEOPLE + 1,
        "people_pages": (len(state.people) - 1) // MAX_LISTED_PEOPLE + 1,
        "others_count": len(
            [person for person in others if not (person.is_public or person.is_team)]
        ),
        "is_public": any(person.is_public for person in others),
        "is_owner": asset.owner == page.caller.username,
        "may_leave": any(person.username == page.caller.username for person in others),
        "share_form": None,
        "removal": None,
        "leaving": None,
        "why": _why_links(state),
    }
    if asset.may_manage and not page.caller.is_anonymous:
        values |= await _managing_values(page, state, api)
    if values["may_leave"] and "leave" in query:
        values["leaving"] = await _removal(page.caller.username, state, page.language, api)
    return values


async def _load_members(people: Iterable[SharedWith], api: InternalAPI) -> dict[str, Any]:
    """Return the first members of the teams that the caller is in, and how many there are."""
    known = [each.username for each in people if each.is_team and not each.is_hidden]
    paths = {each: f"{TEAMS_PATH}{each.removeprefix(TEAM_PREFIX)}/" for each in known}
    found = {
        each: await api.find(f"{path}members/", {"limit": MAX_LISTED_MEMBERS})
        for each, path in paths.items()
    }
    return {
        each: {"path": paths[each], **members}
        for each, members in found.items()
        if members is not None
    }


def _why_links(state: SharingState) -> dict[str, str]:
    """Return the query that explains what each person can do."""
    return {
        person.username: f"user={quote(person.username, safe='')}&permission={person.main_permission}"
        for person in state.people
    }


async def _managing_values(page: Page, state: SharingState, api: InternalAPI) -> dict[str, Any]:
    query, language = page.request.query_params, page.language
    form = page.form
    state = await name_teams(state, None if form is None else form.values.get("record"), api)
    values: dict[str, Any] = {
        "known": (await api.find(SUGGESTIONS_PATH, {"limit": MAX_SUGGESTED}) or {"results": []})[
            "results"
        ],
        "share_form": _share_form(form, query.get("change", ""), state, language),
        "sources": await _sources(state.asset, query.get("copy_search", ""), language, api),
        "copy_search": query.get("copy_search", ""),
        "table": "" if form is None else form.values.get("table", form.get("table")),
        "table_problems": () if form is None else form.values.get("problems", ()),
        "changes": None,
        "hidden_changes": 0,
    }
    removed = state.find(query.get("remove", ""))
    if removed is not None and not removed.is_owner:
        values["removal"] = await _removal(removed.username, state, language, api)
    if form is not None and form.name in ("copy", "upload") and "record" in form.values:
        changes = state.changes(form.values["record"], language)
        values |= {
            "changes": changes[:MAX_LISTED_PEOPLE],
            "hidden_changes": max(0, len(changes) - MAX_LISTED_PEOPLE),
        }
    return values


async def _removal(
    name: str, state: SharingState, language: Language, api: InternalAPI
) -> dict[str, Any]:
    """Return what removing a person would do."""
    response = await api.send(
        "DELETE", f"{state.asset.path}bulk/", query=DRY_RUN, json={"username": name}
    )
    changes = [] if response.is_error else state.changes(response.body, language)
    person = state.find(name)
    return {
        "user": name,
        "user_in_sentence": state.in_sentence(name, language),
        "change": changes[0] if changes else None,
        "person": person,
        "kept": kept_by_teams(person, language) if person else "",
    }


async def _sources(
    asset: AssetAccess, search: str, language: Language, api: InternalAPI
) -> list[tuple[str, str]]:
    """Return assets that the caller manages, the last changed first."""
    query = {
        "limit": MAX_SOURCES,
        "current_user_permissions_only": "true",
        **({"q": quote_phrase(search.replace('"', " ").strip()[:200])} if search else {}),
    }
    found = await api.find(ASSETS_PATH, query)
    records = [] if found is None else found["results"]
    return offer_forms(
        (
            each
            for each in records
            if each["uid"] != asset.uid and is_assigned("manage_asset", each)
        ),
        language,
    )


# The form to share or change


def _share_form(
    form: FormState | None, changed: str, state: SharingState, language: Language
) -> ShareForm:
    if form is not None and form.name in ("share", "change"):
        return _form_again(form, state, language)
    person = state.find(changed) if changed else None
    if person is None or person.is_owner:
        return _make_form("share", "", (), (), FilterFields(), state, language)
    # What somebody has counts as chosen: it stays when a permission that implies it is unticked.
    held = tuple(each for each in state.asset.assignable if each in person.permissions)
    fields, end = from_filters(person.filters), person.common_end
    return _make_form("change", person.username, held, held, fields, state, language, end)


def _form_again(form: FormState, state: SharingState, language: Language) -> ShareForm:
    """Return the form as it was sent, with implied permissions ticked, and with the preview."""
    name = PUBLIC_USERNAME if form.get("who") == "everyone" else form.get("user")
    record = form.values.get("record")
    changes = [] if record is None else state.changes(record, language)
    ticked = dict.fromkeys(form.get_all("permissions"))
    choices = update_choices(form.get("choices").split(), ticked, state.asset.asset_type)
    chosen = [each for each in choices if each in ticked]
    shown = _make_form(
        form.name, name, choices, chosen, read_fields(form), state, language, form.get("end")
    )
    return msgspec.structs.replace(
        shown, preview=changes[0] if changes else None, is_preview=record is not None
    )


def _make_form(
    name: str,
    user: str,
    choices: Sequence[str],
    chosen: Sequence[str],  # without choices that later ones contradict
    fields: FilterFields,
    state: SharingState,
    language: Language,
    end: str = "",
) -> ShareForm:
    asset_type = state.asset.asset_type
    known = [each for each in chosen if each in BY_CODENAME]
    ticked = rules.with_implied(known, asset_type)
    for_everyone = rules.assignable(asset_type, to_public=True)
    is_everyone = user == PUBLIC_USERNAME
    offered = [each for each in state.asset.assignable if each in for_everyone or not is_everyone]

    def labels(codenames: frozenset[str]) -> tuple[str, ...]:
        return tuple(
            short_label(each, asset_type, language) for each in offered if each in codenames
        )

    def box(permission: str) -> PermissionBox:
        needing = labels(frozenset(each for each in known if permission in implied(each)))
        contradicted = (
            frozenset(BY_CODENAME[permission].contradicts) if permission == PARTIAL else frozenset()
        )
        gives = rules.with_implied((permission,), asset_type)
        return PermissionBox(
            codename=permission,
            label=short_label(permission, asset_type, language),
            is_ticked=permission in ticked,
            gives=tuple(each for each in offered if each in gives),
            takes=tuple(
                each for each in offered if rules.find_contradiction((permission, each), asset_type)
            ),
            is_for_everyone=permission in for_everyone,
            needed_by=needing[0] if needing else "",
            not_with=labels(contradicted - {"manage_asset"}),
        )

    return ShareForm(
        name=name,
        user=user,
        user_in_sentence=state.in_sentence(user, language),
        is_everyone=is_everyone,
        choices=tuple(each for each in choices if each in offered),
        boxes=[box(each) for each in offered],
        filter_fields=fields,
        until=end[:10],
        end=end,
        partial_actions=[
            (each, short_label(each, asset_type, language)) for each in PARTIALLY_GRANTABLE
        ],
        preview=None,
        is_preview=False,
    )


@pages.show("assignment_detail", "sharing/assignment.html")
async def load_assignment(page: Page, api: InternalAPI) -> dict[str, Any]:
    """One assignment: the person of it, in words."""
    asset = AssetAccess.from_record(await api.get(f"{ASSETS_PATH}{asset_uid(page.record['url'])}/"))
    [person] = group_people([page.record], asset, page.language)
    label = short_label(codename(page.record["permission"]), asset.asset_type, page.language)
    return {"asset": asset, "person": person, "label": label}


@pages.show("assignment_explanation", "sharing/explanation.html")
async def load_explanation(page: Page, api: InternalAPI) -> dict[str, Any]:
    asset = AssetAccess.from_record(
        await api.get(f"{ASSETS_PATH}{page.request.path_values['uid']}/")
    )
    name = username(page.record["user"])
    asked = codename(page.record["permission"])
    explained = []
    for permission in asset.assignable:
        query = {"user": name, "permission": permission}
        record = (
            page.record if permission == asked else await api.get(f"{asset.path}explain/", query)
        )
        explained.append(_explain_permission(record, asset.asset_type, page.language))
    return {
        "asset": asset,
        "person": display_name(name, page.language),
        "person_in_sentence": sentence_name(name, page.language),
        "is_everyone": name == PUBLIC_USERNAME,
        "user": name,
        "main": _explain_permission(page.record, asset.asset_type, page.language),
        "explained": explained,
    }


def _explain_permission(
    record: Mapping[str, Any], asset_type: str, language: Language
) -> dict[str, Any]:
    """An `ExplanationRecord` in words: whether the person has the permission, why, and what could be given."""
    return {
        "codename": codename(record["permission"]),
        "label": record["label"],
        "is_allowed": record["allowed"],
        "is_partial": not record["allowed"]
        and "partial" in [each["rule"] for each in record["rules"]],
        "reasons": list(dict.fromkeys(_rule_text(each, language) for each in record["rules"])),
        "submissions": [
            (
                short_label(codename(each["url"]), asset_type, language),
                describe_submissions(each["filters"], language),
            )
            for each in record.get("partial_permissions", ())
        ],
        "needs": [each["why"] for each in record["needs"]],
    }


def _rule_text(rule: Mapping[str, Any], language: Language) -> str:
    why = " ".join(_team_text(each["name"], language) for each in rule.get("via", ())) or str(
        rule["why"]
    )
    if "expires_at" not in rule:
        return why
    end = Formatter(language).date(rule["expires_at"])
    return f"{why} {translate(Message('Ends on {date}.', date=end), language)}"


def _team_text(name: str | None, language: Language) -> str:
    if name is None:
        return translate(Message("Comes from a team that you are not in."), language)
    return translate(Message("Comes from the team {name}.", name=isolate(name)), language)
