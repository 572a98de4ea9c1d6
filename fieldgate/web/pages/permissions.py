"""Pages of permissions: the matrix, what each means, and the what-if tool."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME, implied, permission_path
from fieldgate.permissions.labels import replace_codenames, short_label
from fieldgate.web.charts.permission_graph import PermissionGraph, build_graph
from fieldgate.web.page_views import Page, Pages
from fieldgate.web.pages.sharing_people import PERMISSION_ORDER, ShownEffect, codename, show_effect

pages = Pages()

WHAT_IF_PATH = "/api/v2/permissions/effects/"
LIST_PATH = "/api/v2/permissions/"

_MEANINGS: Mapping[str, Message] = {
    "add_submissions": Message("Send answers to the form."),
    "change_asset": Message(
        "Change the name, the questions and the settings, and upload new versions."
    ),
    "change_submissions": Message("Correct answers that were sent."),
    "delete_submissions": Message("Delete answers that were sent."),
    "discover_asset": Message("Find the collection in lists that everyone can see."),
    "manage_asset": Message(
        "Do everything, and decide who else can use it. Only the owner can delete it."
    ),
    "partial_submissions": Message(
        "See or change the answers of some people only, or only certain answers."
    ),
    "validate_submissions": Message("Mark answers as approved, not approved or on hold."),
    "view_asset": Message("Open it, and see its questions and earlier versions."),
    "view_submissions": Message("See answers that were sent."),
}
_TYPE_NAMES: Mapping[str, Message] = {
    "survey": Message("Form"),
    "template": Message("Template"),
    "block": Message("Block"),
    "question": Message("Question"),
    "collection": Message("Collection"),
}


def type_names(language: Language) -> list[tuple[str, str]]:
    return [(each, translate(name, language)) for each, name in _TYPE_NAMES.items()]


class PermissionLink(msgspec.Struct, frozen=True):
    codename: str
    label: str
    path: str


def permission_links(
    codenames: Iterable[str], language: Language, asset_type: str = "survey"
) -> list[PermissionLink]:
    """Return labels and paths of permissions, from weak to strong."""
    ordered = sorted(codenames, key=PERMISSION_ORDER.index)
    return [
        PermissionLink(each, short_label(each, asset_type, language), permission_path(each))
        for each in ordered
    ]


# The list


def matrix(records: Iterable[Mapping[str, Any]], language: Language) -> list[dict[str, Any]]:
    """What assigning each permission does to the others: itself, gives, removes or nothing."""
    by_name = {each["codename"]: each for each in records}
    links = permission_links(by_name, language)
    rows = []
    for link in links:
        given = {codename(url) for url in by_name[link.codename]["implied"]}
        # What is given with it removes others, too.
        removed = {
            codename(url)
            for name in (link.codename, *given)
            if name in by_name
            for url in by_name[name]["contradictory"]
        }
        cells = tuple(
            "self" if each.codename == link.codename
            else "gives" if each.codename in given
            else "removes" if each.codename in removed
            else ""
            for each in links
        )  # fmt: skip
        meaning = translate(_MEANINGS[link.codename], language)
        rows.append({"permission": link, "meaning": meaning, "cells": cells})
    return rows


@pages.show("permission_list", "permissions/list.html")
async def load_permissions(page: Page, api: InternalAPI) -> dict[str, Any]:
    """The matrix, and the result of the what-if form in the query."""
    query = page.request.query_params
    chosen = {name: query[name] for name in PERMISSION_ORDER if query.get(name) in STATES}
    asset_type = query.get("asset_type") or "survey"
    what_if = await _ask_what_if(chosen, asset_type, page.language, api)
    prefix = urlsplit(page.request.base_url.url).path
    # The matrix has all permissions, whatever page of the list was asked for.
    records = (await api.get(LIST_PATH, {"limit": len(PERMISSION_ORDER)}))["results"]
    return {
        "rows": matrix(records, page.language),
        "graph": needs_graph(records, page.language, prefix),
        "what_if": what_if,
    }


def needs_graph(
    records: Iterable[Mapping[str, Any]], language: Language, prefix: str
) -> PermissionGraph:
    """Return which permission comes with which. `prefix` is the path of the service's base URL."""
    by_name = {each["codename"]: each for each in records}
    labels = [
        (link.codename, link.label, prefix + link.path)
        for link in permission_links(by_name, language)
    ]
    return build_graph(labels, is_rtl=language.direction == "rtl")


# What if

STATES = ("held", "assign", "remove")


def _query(chosen: Mapping[str, str], asset_type: str) -> dict[str, str]:
    """Return the query of the API for what was chosen for each permission."""
    held = [name for name, state in chosen.items() if state in ("held", "remove")]
    lists = {
        "held": held,
        "assign": [name for name, state in chosen.items() if state == "assign"],
        "remove": [name for name, state in chosen.items() if state == "remove"],
    }
    return {
        "asset_type": asset_type,
        **{name: ",".join(given) for name, given in lists.items() if given},
    }


async def _ask_what_if(
    chosen: Mapping[str, str], asset_type: str, language: Language, api: InternalAPI
) -> dict[str, Any]:
    query = _query(chosen, asset_type)
    if not chosen:
        return _show_what_if({}, None, asset_type, language)
    response = await api.send("GET", WHAT_IF_PATH, query=query)
    if not response.is_error:
        return _show_what_if(chosen, response.body, asset_type, language)
    texts = [
        text
        for texts in response.body.values()
        for text in (texts if isinstance(texts, list) else [texts])
    ]
    errors = [replace_codenames(text, asset_type, language) for text in dict.fromkeys(texts)]
    return {**_show_what_if(chosen, None, asset_type, language), "errors": errors}


def _show_what_if(
    chosen: Mapping[str, str], record: Mapping[str, Any] | None, asset_type: str, language: Language
) -> dict[str, Any]:
    """The what-if form: what was chosen for each permission (a state or nothing), and what happens to it."""
    known_type = asset_type if asset_type in _TYPE_NAMES else "survey"
    before = {codename(url) for url in record["held"]} if record else set()
    after = {codename(url) for url in record["result"]} if record else set()
    effects: dict[str, list[ShownEffect]] = {}
    for each in record["effects"] if record else ():
        effects.setdefault(codename(each["permission"]), []).append(show_effect(each, language))
    offered = rules.assignable(known_type) | (chosen.keys() & BY_CODENAME.keys())
    rows = [
        {
            "permission": link,
            "state": chosen.get(link.codename, ""),
            "had": link.codename in before,
            "has": link.codename in after,
            "effects": effects.get(link.codename, ()),
        }
        for link in permission_links(offered, language, known_type)
    ]
    return {
        "asset_type": known_type,
        "types": type_names(language),
        "rows": rows,
        "is_answered": record is not None,
        "errors": (),
    }


@pages.show("permission_what_if", "permissions/what_if.html")
async def load_what_if(page: Page, api: InternalAPI) -> dict[str, Any]:  # noqa: ARG001
    """The page of the what-if resource itself: the same form, filled in from its query."""
    assigned, removed = (
        {codename(url) for url in page.record[name]} for name in ("assigned", "removed")
    )
    held = {codename(url) for url in page.record["held"]}
    chosen = {
        **dict.fromkeys(held, "held"),
        **dict.fromkeys(assigned, "assign"),
        **dict.fromkeys(removed & held, "remove"),
    }
    return {"what_if": _show_what_if(chosen, page.record, page.record["asset_type"], page.language)}


# One permission


@pages.show("permission_detail", "permissions/detail.html")
async def load_permission(page: Page, api: InternalAPI) -> dict[str, Any]:  # noqa: ARG001
    name, language = page.record["codename"], page.language
    return {
        "label": short_label(name, "survey", language),
        "meaning": translate(_MEANINGS[name], language),
        "gives": permission_links(map(codename, page.record["implied"]), language),
        "removes": permission_links(map(codename, page.record["contradictory"]), language),
        "given_by": permission_links(
            (each for each in BY_CODENAME if name in implied(each)), language
        ),
        "removed_by": permission_links(
            (each for each in BY_CODENAME if _removes(each, name) and each != name), language
        ),
        "types": [text for each, text in type_names(language) if name in rules.assignable(each)],
        "for_everyone": name in rules.PUBLIC_ASSIGNABLE,
    }


def _removes(codename_: str, other: str) -> bool:
    """Whether assigning a permission removes another, also by what it implies."""
    return any(other in BY_CODENAME[each].contradicts for each in (codename_, *implied(codename_)))


@pages.show("permission_effects", "permissions/effects.html")
async def load_effects(page: Page, api: InternalAPI) -> dict[str, Any]:  # noqa: ARG001
    name, asset_type = codename(page.record["permission"]), page.record["asset_type"]
    return {
        "label": short_label(name, asset_type, page.language),
        "codename": name,
        "held": permission_links(map(codename, page.record["held"]), page.language, asset_type),
        "effects": [show_effect(each, page.language) for each in page.record["effects"]],
        "result": permission_links(map(codename, page.record["result"]), page.language, asset_type),
    }
