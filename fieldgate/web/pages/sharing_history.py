"""The history of sharing in words: changes made at once by one person for another are one entry."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions.catalogue import implied
from fieldgate.permissions.sentences import isolate, join_list
from fieldgate.web.page_views import Page, Pages
from fieldgate.web.pages.sharing_people import (
    PERMISSION_ORDER,
    AssetAccess,
    TeamNames,
    asset_uid,
    codename,
    sentence_name,
    show_effect,
    until_text,
    username,
)

pages = Pages()

GAINED, LOST, ENDS = ("granted", "allowed"), ("removed", "denied"), ("ends",)


@pages.show("assignment_history", "sharing/history.html")
async def load_history(page: Page, api: InternalAPI) -> dict[str, Any]:
    asset = AssetAccess.from_record(
        await api.get(f"/api/v2/assets/{page.request.path_values['uid']}/")
    )
    records = page.record["results"]
    sources = {}
    for uid in dict.fromkeys(asset_uid(each["source"]) for each in records if "source" in each):
        found = await api.find(f"/api/v2/assets/{uid}/")
        sources[uid] = "" if found is None else found["name"]
    return {"asset": asset, "entries": history_entries(records, sources, page.language)}


def history_entries(
    records: Iterable[Mapping[str, Any]], sources: Mapping[str, str], language: Language
) -> list[dict[str, Any]]:
    """What one person did for another at one time. `sources` has names of assets by uid."""
    entries = []
    for (date, maker, act, holder), group in groupby(
        records, itemgetter("date", "by", "act", "user")
    ):
        effects = list(group)
        source = next(
            (sources.get(asset_uid(each["source"]), "") for each in effects if "source" in each), ""
        )
        teams = (
            {username(holder): effects[0]["team__name"] or ""}
            if "team__name" in effects[0]
            else None
        )
        sentence = history_sentence(
            username(maker), username(holder), act, effects, language, teams
        )
        shown = [show_effect(each, language) for each in effects]
        entries.append({"date": date, "sentence": sentence, "effects": shown, "source": source})
    return entries


def history_sentence(
    maker: str,
    holder: str,
    act: str,
    effects: Iterable[Mapping[str, Any]],
    language: Language,
    teams: TeamNames | None = None,
) -> str:
    """Say what was done: “amina gave omar “Edit form””. Implied permissions are named if nothing else changed."""
    records = list(effects)
    gained, lost, ends = (_labels(records, kinds, language) for kinds in (GAINED, LOST, ENDS))
    names = {"by": isolate(maker), "user": sentence_name(holder, language, teams)}
    if act == "transfer" and (gained or not lost):
        is_own = maker == holder
        message = (
            Message("{by} became the owner.", **names)
            if is_own
            else Message("{by} made {user} the owner.", **names)
        )
    elif maker == holder and lost and not gained and act == "remove_all":
        message = Message("{by} left.", **names)
    elif maker == holder and lost and not gained:
        message = Message("{by} gave up {lost}.", **names, lost=lost)
    elif gained and lost:
        message = Message(
            "{by} gave {user} {gained} and took away {lost}.", **names, gained=gained, lost=lost
        )
    elif gained:
        message = Message("{by} gave {user} {gained}.", **names, gained=gained)
    elif lost and act == "remove_all":
        message = Message("{by} removed {user}.", **names)
    elif lost:
        message = Message("{by} took away {lost} from {user}.", **names, lost=lost)
    elif ends:
        message = Message(
            "{by} changed when the access of {user} ends: {ends}.", **names, ends=ends
        )
    else:
        message = Message("{by} changed for which submissions {user} has permissions.", **names)
    also = (
        [Message("This also changed when access ends: {ends}.", ends=ends)]
        if ends and (gained or lost)
        else []
    )
    return " ".join(translate(each, language) for each in (message, *also))


def _labels(
    records: Iterable[Mapping[str, Any]], kinds: tuple[str, ...], language: Language
) -> str:
    """Return the labels of effects of some kinds, with their ends: those that were asked for, or all if none was.

    A copied permission is asked for even if another one implies it, which is not worth naming.
    """
    found = [each for each in records if each["effect"] in kinds]
    asked = [each for each in found if each["reason"] in ("asked", "not_listed")] or found
    by_end: dict[str | None, list[Mapping[str, Any]]] = {}
    for each in sorted(
        asked, key=lambda each: PERMISSION_ORDER.index(codename(each["permission"]))
    ):
        by_end.setdefault(None if kinds == LOST else each.get("expires_at"), []).append(each)
    return join_list(
        [_with_end(each, end, kinds, language) for end, each in by_end.items()], language
    )


def _with_end(
    records: Iterable[Mapping[str, Any]],
    end: str | None,
    kinds: tuple[str, ...],
    language: Language,
) -> str:
    """Return the labels of permissions with the same end: “View form” and “Edit form” until 31 Dec 2026."""
    by_name = {codename(each["permission"]): each["label"] for each in records}
    if kinds != LOST:
        by_name = {
            name: by_name[name]
            for name in by_name
            if not any(name in implied(each) for each in by_name)
        }
    labels = dict.fromkeys(by_name.values())
    joined = join_list(
        [translate(Message("“{label}”", label=label), language) for label in labels], language
    )
    if end:
        return f"{joined} {until_text(end, language)}"
    return (
        translate(Message("{labels} without an end", labels=joined), language)
        if kinds == ENDS
        else joined
    )
