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
from fieldgate.web.page_views import Page
from fieldgate.web.pages.sharing_people import (
    PERMISSION_ORDER,
    AssetAccess,
    TeamNames,
    asset_uid,
    codename,
    sentence_name,
    show_effect,
    username,
)

GAINED, LOST = ("granted", "allowed"), ("removed", "denied")


async def load_history(page: Page, api: InternalAPI) -> dict[str, Any]:
    asset = AssetAccess.from_record(await api.get(f"/api/v2/assets/{page.request.path_values['uid']}/"))
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
    for (date, maker, act, holder), group in groupby(records, itemgetter("date", "by", "act", "user")):
        effects = list(group)
        source = next((sources.get(asset_uid(each["source"]), "") for each in effects if "source" in each), "")
        teams = {username(holder): effects[0]["team__name"] or ""} if "team__name" in effects[0] else None
        sentence = history_sentence(username(maker), username(holder), act, effects, language, teams)
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
    gained, lost = _labels(records, GAINED, language), _labels(records, LOST, language)
    names = {"by": isolate(maker), "user": sentence_name(holder, language, teams)}
    if maker == holder and lost and not gained and act == "remove_all":
        message = Message("{by} left.", **names)
    elif maker == holder and lost and not gained:
        message = Message("{by} gave up {lost}.", **names, lost=lost)
    elif gained and lost:
        message = Message("{by} gave {user} {gained} and took away {lost}.", **names, gained=gained, lost=lost)
    elif gained:
        message = Message("{by} gave {user} {gained}.", **names, gained=gained)
    elif lost and act == "remove_all":
        message = Message("{by} removed {user}.", **names)
    elif lost:
        message = Message("{by} took away {lost} from {user}.", **names, lost=lost)
    elif any(each["effect"] == "ends" for each in records):
        message = Message("{by} changed when the access of {user} ends.", **names)
    else:
        message = Message("{by} changed for which submissions {user} has permissions.", **names)
    return translate(message, language)


def _labels(records: Iterable[Mapping[str, Any]], kinds: tuple[str, ...], language: Language) -> str:
    """Return the labels of effects of some kinds: those that were asked for, or all if none was.

    A copied permission is asked for even if another one implies it, which is not worth naming.
    """
    found = [each for each in records if each["effect"] in kinds]
    asked = [each for each in found if each["reason"] in ("asked", "not_listed")] or found
    if kinds == GAINED:
        names = {codename(each["permission"]) for each in asked}
        asked = [each for each in asked if not any(codename(each["permission"]) in implied(name) for name in names)]
    asked.sort(key=lambda each: PERMISSION_ORDER.index(codename(each["permission"])))
    labels = dict.fromkeys(each["label"] for each in asked)
    quoted = [translate(Message("“{label}”", label=label), language) for label in labels]
    return join_list(quoted, language) if quoted else ""
