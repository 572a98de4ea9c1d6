"""Pages of the log: the history of a form and the whole log in sentences, and the logins of the caller."""

import re
from collections.abc import Mapping
from typing import Any

from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.links import encode_query
from fieldgate.http.search_grammar import quote_phrase
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions.labels import short_label
from fieldgate.permissions.sentences import isolate
from fieldgate.web.page_views import Page, Pages, Redirect
from fieldgate.web.pages.sharing_history import history_sentence
from fieldgate.web.pages.sharing_people import sentence_name

pages = Pages()
pages.show("own_access_log_list", "accounts/logins.html")

Sentences = Mapping[str, Message]

_ON_FORMS: Sentences = {
    "create": Message("{by} created it."),
    "update-name": Message("{by} changed the name from “{old}” to “{new}”."),
    "update-content": Message("{by} changed the questions."),
    "update-settings": Message("{by} changed the settings."),
    "update-tags": Message("{by} changed the tags."),
    "replace-form": Message("{by} uploaded a new version."),
    "deploy": Message("{by} published it."),
    "redeploy": Message("{by} published a newer version."),
    "archive": Message("{by} archived it."),
    "unarchive": Message("{by} put it to use again."),
    "export": Message("{by} downloaded it."),
    "in-trash": Message("{by} deleted it."),
    "put-back": Message("{by} restored it after it was deleted."),
    "delete": Message("{by} deleted it for good."),
    "transfer-invite": Message("{by} invited {user} to own it."),
    "transfer-decline": Message("{by} declined to own it."),
    "transfer-cancel": Message("{by} cancelled the invitation of {user} to own it."),
}
_RESTORED = Message("{by} restored an earlier version.")
_DISABLED_WITH_OWNER = Message(
    "The service account {user} was disabled, because its owner was disabled or deleted."
)
_RENAMED_TEAM = Message("{by} changed the name of the team “{old}” to “{new}”.")
_ON_OTHERS: Mapping[str, Sentences] = {
    "user": {
        "auth": Message("{by} logged in."),
        "auth-failed": Message("Somebody tried to log in as {by}."),
        "create": Message("{by} created the user {user}."),
        "update": Message("{by} changed the user {user}."),
        "disable": Message("{by} disabled the user {user}."),
        "enable": Message("{by} enabled the user {user}."),
        "delete": Message("{by} deleted their own account."),
        "admin-delete": Message("{by} deleted a user."),
        "export": Message("{by} downloaded everything about their own account."),
        "change-password": Message("{by} changed the password of {user}."),
        "create-link": Message("{by} created a one-time link for {user}."),
        "use-link": Message("{by} set a password with a one-time link."),
        "link-login": Message("{by} linked an account at a provider of single sign-on to {user}."),
        "unlink-login": Message(
            "{by} removed an account at a provider of single sign-on from {user}."
        ),
    },
    "token": {
        "create": Message("{by} created a token for {user}."),
        "remove": Message("{by} revoked a token of {user}."),
    },
    "log": {"export": Message("{by} downloaded the log.")},
    "review": {"export": Message("{by} downloaded the list of who can use which forms.")},
    "session": {"remove": Message("{by} ended browser sessions of {user}.")},
    "team": {
        "create": Message("{by} created the team {name}."),
        "update": Message("{by} changed the name or the description of the team {name}."),
        "delete": Message("{by} deleted the team {name}."),
        "add-member": Message("{by} added {user} to the team {name}."),
        "update-member": Message(
            "{by} made {user} a member of the team {name} who is not an admin."
        ),
        "remove-member": Message("{by} removed {user} from the team {name}."),
        "lose-admin": Message("{by} disabled the last admin of the team {name}."),
    },
    "event": {
        "create": Message("{by} added the emergency with the number {number}."),
        "update": Message("{by} changed the emergency with the number {number}."),
        "delete": Message("{by} deleted the emergency with the number {number}."),
        "export": Message("{by} downloaded emergencies."),
        "load": Message("{by} loaded emergencies from files."),
        "sync": Message("{by} pulled emergencies from another server."),
        "demo": Message("{by} created demo emergencies."),
    },
}
_NEW_ADMIN = Message("{by} made {user} an admin of the team {name}.")
_UNKNOWN_NAME = Message("Somebody tried to log in with an unknown name.")
_OTHER = Message("{by} did this: {action}.")
# Fields of the form for filters, with the fields of `q` that they stand for.
FILTERS = {
    "action": "action",
    "username": "username",
    "from": "date_created__gte",
    "to": "date_created__lte",
    "form": "metadata__asset_uid",
}
_TEAM_UID = re.compile(
    rf"{TEAM_PREFIX}t\w{{21}}"
)  # in place of a name that the caller may not know
_TERM = re.compile(r'\b(\w+):"((?:[^"\\]|\\.)*)"')


@pages.show("asset_history", "assets/history.html")
async def load_history(page: Page, api: InternalAPI) -> dict[str, Any]:
    asset = await api.get(f"/api/v2/assets/{page.request.path_values['uid']}/")
    entries = [_entry(each, page.language, asset["asset_type"]) for each in page.record["results"]]
    return {"asset": asset, "entries": entries}


@pages.show("audit_log_list", "accounts/log.html")
@pages.show("access_log_list", "accounts/log.html")
@pages.show("project_history_list", "accounts/log.html")
async def load_log(page: Page, _: InternalAPI) -> dict[str, Any] | Redirect:
    """The filters of the form become terms of `q`."""
    given = page.request.query_params
    if any(name in given for name in FILTERS):
        sent = {field: given.get(name, "").strip() for name, field in FILTERS.items()}
        terms = [f"{field}:{quote_phrase(value)}" for field, value in sent.items() if value]
        query = {"q": " ".join(terms)} if terms else {}
        return Redirect(page.request.path + ("?" + encode_query(query.items()) if query else ""))
    fields = {field: name for name, field in FILTERS.items()}
    chosen = {fields[field]: re.sub(r"\\(.)", r"\1", value) for field, value in _TERM.findall(given.get("q", ""))
              if field in fields}  # fmt: skip
    entries = [_entry(each, page.language) for each in page.record["results"]]
    return {"entries": entries, "filters": chosen, "actions": sorted(_all_actions())}


def _all_actions() -> set[str]:
    permissions = ("modify-user-permissions", "clone-permissions", "share-form-publicly", "unshare-form-publicly",
                   "share-data-publicly", "unshare-data-publicly", "transfer")  # fmt: skip
    return {
        *_ON_FORMS,
        *permissions,
        *(action for sentences in _ON_OTHERS.values() for action in sentences),
    }


def _entry(
    record: Mapping[str, Any], language: Language, asset_type: str = "survey"
) -> dict[str, Any]:
    metadata = record["metadata"]
    return {
        "sentence": log_sentence(record, language, asset_type),
        "date": record["date_created"],
        "asset_uid": metadata.get("asset_uid", ""),
        "asset_name": metadata.get("asset_name", ""),
        "address": metadata["ip_address"],
        "source": metadata["source"],
        "credential": metadata["credential"],
        "count": record.get("count") or metadata.get("count", 1),
    }


def log_sentence(record: Mapping[str, Any], language: Language, asset_type: str = "survey") -> str:
    """Say what an entry is about: “amina changed the questions.”"""
    metadata, action = record["metadata"], record["action"]
    if "permissions" in metadata:
        return _permission_sentence(record, language, asset_type)
    model = "asset" if "asset_uid" in metadata else record.get("model_name", "user")
    message = (_ON_FORMS if model == "asset" else _ON_OTHERS.get(model, {})).get(action, _OTHER)
    if "restored_version_uid" in metadata:
        message = _RESTORED
    elif action == "update-member" and metadata["role"] == "admin":
        message = _NEW_ADMIN
    elif action == "auth-failed" and not record["username"]:
        message = _UNKNOWN_NAME
    elif action == "disable" and "reason" in metadata:
        message = _DISABLED_WITH_OWNER
    name = metadata.get("name")
    renamed = name if isinstance(name, Mapping) else {}
    if model == "team" and renamed:
        message = _RENAMED_TEAM
    values = {
        "by": maker_name(record, language),
        "user": sentence_name(metadata.get("changed_user") or "", language),
        "action": action,
        "number": isolate(metadata.get("uid", "")),
        "name": isolate(name) if isinstance(name, str) else "",
        "old": isolate(renamed.get("old", "")),
        "new": isolate(renamed.get("new", "")),
    }
    return translate(Message(message.text, **values), language)


def _permission_sentence(record: Mapping[str, Any], language: Language, asset_type: str) -> str:
    changed = record["metadata"]["permissions"]
    before, after = (record["metadata"].get(name, {}) for name in ("ends_before", "ends_after"))
    moved = {each for each in before.keys() | after.keys() if before.get(each) != after.get(each)}
    moved.difference_update(changed["added"], changed["removed"])
    kinds = (("granted", changed["added"]), ("removed", changed["removed"]), ("ends", moved))
    effects = [
        {
            "effect": effect,
            "reason": "asked",
            "permission": f"/api/v2/permissions/{codename}/",
            "label": short_label(codename, asset_type, language),
            "expires_at": after.get(codename),
        }
        for effect, codenames in kinds
        for codename in codenames
    ]
    act = record["metadata"].get("act", "")
    by = record["username"] or maker_name(record, language)
    holder = TEAM_PREFIX if _TEAM_UID.fullmatch(changed["username"]) else changed["username"]
    sentence = history_sentence(by, holder, act, effects, language)
    former = record["metadata"]["project_owner"] if record["action"] == "transfer" else ""
    if not former:
        return sentence
    before = translate(Message("Before, it belonged to {user}.", user=isolate(former)), language)
    return f"{sentence} {before}"


def maker_name(record: Mapping[str, Any], language: Language) -> str:
    """Who did it, for a sentence."""
    if record["username"]:
        return isolate(record["username"])
    if record["user_uid"]:
        return translate(Message("Somebody whose account is gone"), language)
    is_operator = record["metadata"].get("credential") == "command"
    return translate(
        Message("The operator") if is_operator else Message("Somebody who was not logged in"),
        language,
    )
