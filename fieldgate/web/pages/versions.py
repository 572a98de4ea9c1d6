"""Pages of the versions of a form: history, preview with restoring, differences, warnings."""

from typing import Any

from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.messages import Message, translate
from fieldgate.pagination import PageRequest
from fieldgate.web.page_views import FormResult, Page, Pages, Redirect, SubmittedForm, Undo
from fieldgate.web.pages.form_preview import ASSETS_PATH, asset_facts, labels, load_questions

pages = Pages()

CHANGES_PER_PAGE = 50
VERSIONS_TO_CHOOSE = 100

_PARTS = {
    "question": Message("Questions"),
    "choice": Message("Choices"),
    "setting": Message("Settings"),
    "language": Message("Languages"),
    "other": Message("Other sheets"),
}
_CHANGES = {
    "added": Message("Added"),
    "removed": Message("Deleted"),
    "changed": Message("Changed"),
    "moved": Message("Moved"),
    "renamed": Message("Renamed"),
}


@pages.show("version_list", "assets/versions.html")
async def load_version_list(page: Page, api: InternalAPI) -> dict[str, Any]:
    return {**await _load_asset(page, api), "page_request": page.request.page}


@pages.show("version_detail", "assets/version.html")
async def load_version_detail(page: Page, api: InternalAPI) -> dict[str, Any]:
    facts = await _load_asset(page, api)
    version = page.record
    return {
        **facts,
        "shown_version": version,
        "is_current": version["uid"] == facts["asset"]["version_id"],
        **await load_questions(
            page, api, facts["asset"]["uid"], version["content"], version["uid"]
        ),
    }


@pages.show("version_diff", "assets/diff.html")
async def load_version_diff(page: Page, api: InternalAPI) -> dict[str, Any]:
    facts = await _load_asset(page, api)
    path = f"{facts['asset_path']}versions/"
    found = await api.get(path, {"limit": VERSIONS_TO_CHOOSE})
    parts: dict[str, list[dict[str, Any]]] = {}
    for each in page.record["counts"]:
        parts.setdefault(each["part"], []).append(each)
    return {
        **facts,
        "versions": found["results"],
        "diff": page.record,
        "counts": {
            part: sorted(parts[part], key=lambda each: [*_CHANGES].index(each["change"]))
            for part in _PARTS
            if part in parts
        },
        "changes": page.record["changes"][:CHANGES_PER_PAGE],
        "change_page": PageRequest(
            CHANGES_PER_PAGE, int(page.request.query_params.get("offset") or 0)
        ),
        "part_labels": labels(_PARTS, page.language),
        "change_labels": labels(_CHANGES, page.language),
    }


@pages.show("version_warnings", "assets/warnings.html")
async def load_version_warnings(page: Page, api: InternalAPI) -> dict[str, Any]:
    facts = await _load_asset(page, api)
    version = await api.get(f"{facts['asset_path']}versions/{page.request.path_values['version']}/")
    return {**facts, "shown_version": version, "page_request": page.request.page}


async def _load_asset(page: Page, api: InternalAPI) -> dict[str, Any]:
    asset = await api.get(f"{ASSETS_PATH}{page.request.path_values['uid']}/")
    return asset_facts(page, asset)


@pages.form("version_detail", "restore")
async def restore(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Undo restores the version that was current before."""
    asset_path = f"{ASSETS_PATH}{form.path_values['uid']}/"
    before = await api.get(f"{asset_path}versions/", {"limit": 1})
    version = await api.get(form.path)
    restored = await api.call("POST", f"{form.path.rstrip('/')}/restore/")
    message = Message(
        "Version {old} is the current one again, as version {new}.",
        old=version["number"],
        new=restored["number"],
    )
    former = before["results"][0]["uid"]
    undo = Undo(
        translate(Message("Undo"), form.language), f"{asset_path}versions/{former}/", "restore"
    )
    return Redirect(asset_path, message, undo)
