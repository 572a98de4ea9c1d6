"""Pages of forms and collections: list, preview with actions, questions."""

from collections.abc import Mapping, Sequence
from typing import Any

from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.permissions.sentences import list_names
from fieldgate.web.page_views import (
    FormErrors,
    FormPreview,
    FormResult,
    Page,
    Pages,
    Redirect,
    SubmittedForm,
    Undo,
)
from fieldgate.web.pages.form_preview import (
    ASSETS_PATH,
    STATUS_LABELS,
    TYPE_LABELS,
    asset_facts,
    labels,
    language_names,
    load_questions,
    local_path,
    shown_name,
)
from fieldgate.web.pages.ownership import load_received_invites
from fieldgate.web.pages.trash import TRASH_PATH

pages = Pages()

VERSIONS_SHOWN = 5
CHILDREN_SHOWN = 100
WARNINGS_SHOWN = 20

_UNDO = Message("Undo")
_ORDERINGS = {
    "-date_modified": Message("Last changed first"),
    "date_modified": Message("Last changed last"),
    "name": Message("Name, A to Z"),
    "-name": Message("Name, Z to A"),
    "owner__username": Message("Owner"),
}


@pages.show("asset_list", "assets/list.html")
async def load_asset_list(page: Page, api: InternalAPI) -> dict[str, Any]:
    query = page.request.query_params
    filters = {name: query.get(name, "") for name in ("q", "asset_type", "status", "ordering")}
    return {
        "filters": filters,
        "is_filtered": bool(filters["q"] or filters["asset_type"] or filters["status"]),
        "type_labels": labels(TYPE_LABELS, page.language),
        "status_labels": labels(STATUS_LABELS, page.language),
        "orderings": labels(_ORDERINGS, page.language),
        "own_username": page.caller.username,
        "language_names": language_names(page.language),
        "page_request": page.request.page,
        "invites": await load_received_invites(page.caller, api),
    }


@pages.show("asset_detail", "assets/detail.html")
async def load_asset_detail(page: Page, api: InternalAPI) -> dict[str, Any]:
    asset = page.record
    path = f"{ASSETS_PATH}{asset['uid']}/"
    is_collection = asset["asset_type"] == "collection"
    values = {
        **asset_facts(page, asset),
        "parent": await _load_parent(page, api),
        "is_collection": is_collection,
    }
    if is_collection:
        query = {"q": f"parent:{asset['uid']}", "limit": CHILDREN_SHOWN, "ordering": "name"}
        return {
            **values,
            "children": await api.get(ASSETS_PATH, query),
            "kept_shown": CHILDREN_SHOWN,
        }
    versions = await api.get(f"{path}versions/", {"limit": VERSIONS_SHOWN})
    warnings = await api.get(
        f"{path}versions/{asset['version_id']}/warnings/", {"limit": WARNINGS_SHOWN}
    )
    return {
        **values,
        "versions": versions["results"],
        "version_count": versions["count"],
        "published": next(iter(asset["deployed_versions"]["results"]), None),
        "warnings": warnings["results"],
        "warning_count": warnings["count"],
        **await load_questions(page, api, asset["uid"], asset["content"]),
    }


@pages.show("question_list", "assets/questions.html")
async def load_question_list(page: Page, api: InternalAPI) -> dict[str, Any]:
    uid = page.request.path_values["uid"]
    asset = await api.get(f"{ASSETS_PATH}{uid}/")
    version = page.request.query_params.get("version", "")
    content = (await api.get(f"{ASSETS_PATH}{uid}/versions/{version}/") if version else asset)[
        "content"
    ]
    return {**asset_facts(page, asset), **await load_questions(page, api, uid, content, version)}


async def _load_parent(page: Page, api: InternalAPI) -> dict[str, str] | None:
    """The collection that an asset is in, if the caller can view it."""
    if page.record["parent"] is None:
        return None
    path = local_path(page, page.record["parent"])
    found = await api.find(path)
    return None if found is None else {"path": path, "name": found["name"]}


@pages.form("asset_detail", "rename", {"name": "name"})
async def rename(form: SubmittedForm, api: InternalAPI) -> FormResult:
    before = await api.get(form.path)
    renamed = await api.call("PATCH", form.path, json={"name": form.get("name")})
    undo = Undo(translate(_UNDO, form.language), form.path, "rename", {"name": before["name"]})
    message = Message("The name is now “{name}”.", name=shown_name(renamed["name"]))
    return Redirect(form.path, message, undo if before["name"] else None)


@pages.form("asset_detail", "tags", {"tag_string": "tag_string"})
async def change_tags(form: SubmittedForm, api: InternalAPI) -> FormResult:
    before = await api.get(form.path)
    changed = await api.call("PATCH", form.path, json={"tag_string": form.get("tag_string")})
    undo = Undo(
        translate(_UNDO, form.language), form.path, "tags", {"tag_string": before["tag_string"]}
    )
    tags = list_names(changed["tag_string"].split(","), form.language)
    message = Message("The tags are now: {tags}.", tags=tags)
    return Redirect(
        form.path, message if changed["tag_string"] else Message("There are no tags now."), undo
    )


@pages.form("asset_detail", "copy", {"name": "name"})
async def copy(form: SubmittedForm, api: InternalAPI) -> FormResult:
    body = {"clone_from": form.path_values["uid"], "name": form.get("name")}
    made = await api.call("POST", ASSETS_PATH, json=body)
    return _created(
        form, made, Message("This is the copy. Changes here do not change the original.")
    )


@pages.form("asset_list", "create_collection", {"name": "name"})
async def create_collection(form: SubmittedForm, api: InternalAPI) -> FormResult:
    name = form.get("name")
    if not name:
        return FormErrors(
            {"name": [translate(Message("Enter a name for the collection."), form.language)]}
        )
    made = await api.call("POST", ASSETS_PATH, json={"asset_type": "collection", "name": name})
    return _created(
        form, made, Message("The collection “{name}” was created.", name=shown_name(name))
    )


@pages.form("asset_detail", "publish")
async def publish(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Deploy the version that the page showed, if it is still the newest."""
    asset = await api.get(form.path)
    method, body = (
        "PATCH" if asset["has_deployment"] else "POST",
        {"active": True, "version_id": form.get("version")},
    )
    deployment = await api.call(method, f"{form.path.rstrip('/')}/deployment/", json=body)
    number = deployment["asset"]["deployed_versions"]["results"][0]["number"]
    return Redirect(
        form.path, Message("Version {number} is published: people should use it.", number=number)
    )


@pages.form("asset_detail", "archive")
async def archive(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Archive a form; with `active`, take that back."""
    active = form.get("active") == "true"
    await api.call("PATCH", f"{form.path.rstrip('/')}/deployment/", json={"active": active})
    if active:
        return Redirect(form.path, Message("The form is in use again."))
    undo = Undo(translate(_UNDO, form.language), form.path, "archive", {"active": "true"})
    return Redirect(
        form.path, Message("This form is archived: people should not use it any more."), undo
    )


@pages.form("asset_detail", "delete")
async def delete(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """The first time, ask."""
    preview = await api.call("DELETE", form.path, query={"dry_run": "true"})
    if form.get("confirm") != "yes":
        return FormPreview({"preview": preview})
    asset = await api.get(form.path)
    await api.call("DELETE", form.path)
    undo = Undo(translate(_UNDO, form.language), TRASH_PATH, "restore", {"uid": asset["uid"]})
    message = _deletion_message(asset, preview["kept"], form.language)
    return Redirect(ASSETS_PATH, message, undo if preview["trash_days"] else None)


def _deletion_message(
    asset: Mapping[str, Any], kept: Sequence[Mapping[str, Any]], language: Language
) -> Message:
    name = shown_name(asset["name"])
    if asset["asset_type"] != "collection":
        return Message("“{name}” was deleted.", name=name)
    if not kept:
        return Message("The collection “{name}” and everything in it was deleted.", name=name)
    without_name = translate(Message("Without a name"), language)
    return PluralMessage(
        "The collection “{name}” was deleted. {count} item in it belongs to somebody else and stays: {names}.",
        "The collection “{name}” was deleted. {count} items in it belong to others and stay: {names}.",
        len(kept),
        name=name,
        names=list_names([each["name"] or without_name for each in kept], language),
    )


def _created(form: SubmittedForm, made: Mapping[str, Any], message: Message) -> Redirect:
    path = f"{ASSETS_PATH}{made['uid']}/"
    undo = Undo(translate(_UNDO, form.language), path, "delete", {"confirm": "yes"})
    return Redirect(path, message, undo)
