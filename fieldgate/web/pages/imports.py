"""Pages of imports: upload, the list with its status, and the result with problems next to their rows."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.request.body_parsing import DEFAULT_MAX_BODY_BYTES, UploadedFile
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.settings import Settings
from fieldgate.web.page_views import (
    FormErrors,
    FormPreview,
    FormResult,
    Page,
    Pages,
    Redirect,
    SubmittedForm,
)
from fieldgate.web.pages.form_preview import isolated, offer_forms
from fieldgate.web.pages.import_issues import count_issues, group_issues
from fieldgate.web.pages.sharing_people import asset_uid, is_assigned

pages = Pages()

PATH = "/api/v2/imports/"
ASSETS_PATH = "/api/v2/assets/"
PROCESSING, CREATED = "processing", 201
MAX_FILES = 20  # in one form
FILES_AT_LIMIT = (
    2  # so many files of the largest size fit into one form; the script sends them one by one
)
MAX_SEARCH_TERMS = 20  # of a search for assets
MAX_DESTINATIONS = 100  # forms that can be chosen from a list

_DESTINATION_QUERY = {
    "q": "asset_type:survey OR asset_type:template",
    "limit": MAX_DESTINATIONS,
    "current_user_permissions_only": "true",
}
_API_FIELDS = {"file": "files", "destination": "destination", "assetUid": "destination"}


def _max_upload_bytes(settings: Settings) -> int:
    return settings.max_upload * FILES_AT_LIMIT + DEFAULT_MAX_BODY_BYTES


@pages.show("import_list", "imports/list.html")
async def load_import_list(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    params = page.request.query_params
    listed, pending = page.record, 0
    if not page.caller.is_anonymous:
        pending = (await api.get(PATH, {"status": PROCESSING, "limit": 1}))["count"]
        if "ordering" not in params:  # people look for what they sent last
            request = page.request.page
            query = {"limit": request.limit, "offset": request.offset, "ordering": "-date_created"}
            listed = await api.get(
                PATH, {**query, **({"status": params["status"]} if params.get("status") else {})}
            )
    names = await _asset_names(
        api, (made["uid"] for record in listed["results"] for made in _results(record))
    )
    entries = [
        {**_summarize(record), "results": _named(_results(record), names)}
        for record in listed["results"]
    ]
    return {
        "listed": listed,
        "entries": entries,
        "pending": pending,
        **(await _upload_values(page, api, params.get("destination", ""))),
    }


@pages.show("import_detail", "imports/detail.html")
async def load_import(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    record = page.record
    messages = record["messages"]
    destination = asset_uid(record["destination"] or "")
    has_issues = "problems" in messages or "warnings" in messages
    rows = await api.find(f"{PATH}{record['uid']}/rows/") if has_issues else None
    names = await _asset_names(api, [destination, *(made["uid"] for made in _results(record))])
    groups = group_issues(messages, rows["sheets"] if rows else [])
    with_problems = [group.sheet for group in groups if group.problems]
    return {
        "entry": {**_summarize(record), "results": _named(_results(record), names)},
        "groups": groups,
        "only_sheet": with_problems[0] if len(with_problems) == 1 else None,
        "destination": {"uid": destination, "name": names.get(destination, "")}
        if destination
        else None,
        "destinations": [],
        "form_key": secrets.token_urlsafe(16),
        "existing": _offer_existing(page),
    }


def _offer_existing(page: Page) -> list[tuple[str, str]]:
    """The forms that the file may be a new version of."""
    found = page.record["messages"].get("existing", ())
    return offer_forms(
        ({**form, "owner__username": page.caller.username} for form in found), page.language
    )


async def _upload_values(page: Page, api: InternalAPI, destination: str) -> dict[str, Any]:
    """What the form for uploads needs: the form to replace, or those that can be chosen."""
    names = await _asset_names(api, [destination])
    found = (
        None
        if names or page.caller.is_anonymous
        else await api.find(ASSETS_PATH, _DESTINATION_QUERY)
    )
    forms = found["results"] if found else []
    return {
        "destination": {"uid": destination, "name": names[destination]}
        if destination in names
        else None,
        "destinations": offer_forms(
            (each for each in forms if is_assigned("change_asset", each)), page.language
        ),
        "form_key": secrets.token_urlsafe(16),
    }


@pages.form("import_list", "upload", max_bytes=_max_upload_bytes)
@pages.form("import_detail", "upload", max_bytes=_max_upload_bytes)
async def upload(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Import each file by itself: one that is refused does not stop the others."""
    files = form.files("files")
    if error := _check_files(files, form.get("destination")):
        return FormErrors({"files": [translate(error, form.language)]})
    if form.get("check"):
        return FormPreview({"checks": [await _check_only(form, api, file) for file in files]})
    sent: list[dict[str, str]] = []
    refused: dict[str, list[str]] = {}
    for file in files:
        key = {"Idempotency-Key": _idempotency_key(form, file)}
        response = await api.send("POST", PATH, fields=_import_fields(form, file), headers=key)
        if response.status == CREATED:
            sent.append({"path": f"{PATH}{response.body['uid']}/", "filename": isolated(file.name)})
            continue
        for field, texts in FormErrors.from_response(response, _API_FIELDS).errors.items():
            named = (
                Message("{file}: {error}", file=isolated(file.name), error=text) for text in texts
            )
            refused.setdefault(field or "files", []).extend(
                texts
                if len(files) == 1
                else (translate(message, form.language) for message in named)
            )
    if refused:
        return FormErrors(refused, {"sent": sent})
    if len(sent) == 1:
        return Redirect(sent[0]["path"], Message("{file} was sent.", file=sent[0]["filename"]))
    return Redirect(
        PATH, PluralMessage("{count} file was sent.", "{count} files were sent.", len(sent))
    )


@pages.form("import_detail", "answer")
async def answer(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """The file is a new version of the chosen form, or a second form."""
    is_new = form.get("answer") == "create"
    body = {"if_exists": "create"} if is_new else {"destination": form.get("destination")}
    await api.call("PATCH", form.path, json=body)
    return Redirect(form.path)


def _check_files(files: Sequence[UploadedFile], destination: str) -> Message | None:
    if not files:
        return Message("Choose a file first.")
    if len(files) > MAX_FILES:
        return PluralMessage(
            "Send at most {count} file at a time.",
            "Send at most {count} files at a time.",
            MAX_FILES,
        )
    if destination and len(files) > 1:
        return Message("Choose one file: only one can be the new version of a form.")
    return None


def _import_fields(form: SubmittedForm, file: UploadedFile) -> dict[str, str | UploadedFile]:
    names = ("destination", "library", "desired_type", "if_exists")
    return {"file": file, **{name: form.get(name) for name in names if form.get(name)}}


async def _check_only(form: SubmittedForm, api: InternalAPI, file: UploadedFile) -> dict[str, Any]:
    """What an import would find, or why the file is refused. Nothing is stored."""
    fields = {**_import_fields(form, file), "if_exists": ""}  # that is asked when it is imported
    response = await api.send("POST", PATH, query={"dry_run": "true"}, fields=fields)
    if response.is_error:
        refused = FormErrors.from_response(response).errors.values()
        messages, sheets, errors = {}, [], [text for texts in refused for text in texts]
    else:
        messages, sheets = response.body["messages"], response.body["sheets"]
        errors = [messages["error"]] if "error" in messages and not messages["problems"] else []
    prefix = f"check-{secrets.token_hex(4)}-"  # the script shows the results of several requests on one page
    return {
        "prefix": prefix,
        "filename": isolated(file.name),
        "errors": errors,
        **_count_all(messages),
        "groups": group_issues(messages, sheets, prefix),
    }


def _idempotency_key(form: SubmittedForm, file: UploadedFile) -> str:
    """The same for the same file in the same form: reloading its result, or a second click, does not import it twice.

    Another file that is chosen in a form that a browser shows again gets another key.
    """
    digest = hashlib.sha256(form.get("key").encode())
    for part in (file.name.encode(errors="surrogatepass"), form.get("destination").encode()):
        digest.update(hashlib.sha256(part).digest())
    digest.update(file.sha256())
    return "page-" + digest.hexdigest()


def _summarize(record: Mapping[str, Any]) -> dict[str, Any]:
    messages = record["messages"]
    return {
        "path": f"{PATH}{record['uid']}/",
        "filename": record["filename"] or "–",
        "status": record["status"],
        "sent": record["date_created"],
        **_count_all(messages),
    }


def _count_all(messages: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "problems": count_issues(messages.get("problems", ())),
        "warnings": count_issues(messages.get("warnings", ())),
        "asks": "existing" in messages,
    }


def _results(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = record["messages"]
    return [*messages.get("created", ()), *messages["updated"]]


def _named(results: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            **made,
            "path": f"{ASSETS_PATH}{made['uid']}/",
            "name": names.get(made["uid"], ""),
            "languages": [
                language for language in made.get("summary", {}).get("languages", ()) if language
            ],
        }
        for made in results
    ]


async def _asset_names(api: InternalAPI, uids: Iterable[str]) -> dict[str, str]:
    """The names of assets that the caller can see, by uid."""
    names: dict[str, str] = {}
    wanted = sorted({uid for uid in uids if uid.isalnum()})
    for start in range(0, len(wanted), MAX_SEARCH_TERMS):
        terms = (f"uid:{uid}" for uid in wanted[start : start + MAX_SEARCH_TERMS])
        query = {"q": " OR ".join(terms), "limit": MAX_SEARCH_TERMS}
        found = await api.find(ASSETS_PATH, query)
        names |= {asset["uid"]: asset["name"] for asset in (found["results"] if found else ())}
    return names
