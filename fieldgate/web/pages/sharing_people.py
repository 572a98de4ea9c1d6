"""Who can use an asset, and how: the assignments of the API by person, in words. No I/O."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions.catalogue import PARTIAL, implied
from fieldgate.permissions.labels import short_label
from fieldgate.permissions.sentences import access_sentence, isolate
from fieldgate.permissions.submission_filters import Filters
from fieldgate.web.formatting import Formatter

PUBLIC_USERNAME = "AnonymousUser"
MAX_LISTED_PEOPLE = 100  # on one page, and in one preview
# The order of checkboxes and labels: from weak to strong.
PERMISSION_ORDER = (
    "view_asset",
    "discover_asset",
    "change_asset",
    "add_submissions",
    "view_submissions",
    PARTIAL,
    "change_submissions",
    "validate_submissions",
    "delete_submissions",
    "manage_asset",
)


# What the links in records refer to: pages show names, not URLs.


def linked_name(url: str, collection: str) -> str:
    """Return the last part of a URL below a collection: the username of a user, the uid of an asset."""
    _, _, rest = urlsplit(url).path.partition(f"/api/v2/{collection}/")
    return unquote(rest.removesuffix("/"))


def username(url: str) -> str:
    """Return what names a holder of permissions in a request: a username, or `team:` and the uid of a team."""
    team = linked_name(url, "teams")
    return TEAM_PREFIX + team if team else linked_name(url, "users")


def codename(url: str) -> str:
    return linked_name(url, "permissions")


def asset_uid(url: str) -> str:
    return linked_name(url, "assets").partition("/")[0]


def is_assigned(permission: str, record: Mapping[str, Any]) -> bool:
    """Whether somebody has a permission, by the record of an asset that shows this person's assignments only."""
    return any(codename(each["permission"]) == permission for each in record["permissions"])


class AssetAccess(msgspec.Struct, frozen=True):
    """An asset as far as sharing needs it, and what the caller may do with it."""

    uid: str
    name: str
    asset_type: str
    owner: str
    may_manage: bool
    assignable: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"/api/v2/assets/{self.uid}/permission-assignments/"

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "AssetAccess":
        allowed = {each["codename"] for each in record["effective_permissions"]}
        assignable = {codename(each["url"]) for each in record["assignable_permissions"]}
        return cls(
            uid=record["uid"],
            name=record["name"],
            asset_type=record["asset_type"],
            owner=record["owner__username"],
            may_manage="manage_asset" in allowed,
            assignable=tuple(each for each in PERMISSION_ORDER if each in assignable),
        )


class SharedWith(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who can use an asset. The public is a person, too, and so is a team."""

    username: str  # of a team: `team:` and its uid
    name: str  # for people; the public is “Everyone”
    is_owner: bool
    is_public: bool
    is_team: bool = False
    is_hidden: bool = False  # a team that the caller is not in
    teams: tuple[
        str, ...
    ] = ()  # names of those that give the person permissions; empty if the caller is not in one
    permissions: frozenset[str]
    inherited: frozenset[str]  # from the collection
    filters: Filters
    sentence: str
    labels: tuple[str, ...]
    ends: Mapping[str, str]  # by permission, ISO 8601; those that never end are absent
    shown_ends: tuple["ShownEnd", ...]

    @property
    def main_permission(self) -> str:
        """The strongest permission, to explain."""
        return max(
            self.permissions, key=lambda each: (len(implied(each)), each), default="view_asset"
        )

    @property
    def common_end(self) -> str:
        """When everything ends that the person has, or nothing."""
        return self.shown_ends[0].time if self.shown_ends and not self.shown_ends[0].labels else ""


class ShownEnd(msgspec.Struct, frozen=True):
    """When permissions of a person end. Without labels it is for all of them."""

    time: str
    labels: tuple[str, ...]


TeamNames = Mapping[str, str]  # by `team:` and uid; empty if the caller is not in the team
HIDDEN_TEAM = Message("A team that you are not in")


def display_name(name: str, language: Language, teams: TeamNames | None = None) -> str:
    """Return the name of a user or team for a page."""
    if name == PUBLIC_USERNAME:
        return translate(Message("Everyone"), language)
    return _plain_name(name, teams) or translate(HIDDEN_TEAM, language)


def sentence_name(name: str, language: Language, teams: TeamNames | None = None) -> str:
    """Return the name of a user or team for the middle of a sentence."""
    if name == PUBLIC_USERNAME:
        return translate(Message("everyone"), language)
    if not name:
        return translate(Message("somebody whose account is gone"), language)
    plain = _plain_name(name, teams)
    if not plain:
        return translate(Message("a team that you are not in"), language)
    is_team = name.startswith(TEAM_PREFIX)
    return (
        translate(Message("the team {name}", name=isolate(plain)), language)
        if is_team
        else isolate(plain)
    )


def _plain_name(name: str, teams: TeamNames | None) -> str:
    return (teams or {}).get(name, name.removeprefix(TEAM_PREFIX))


def kept_by_teams(person: SharedWith, language: Language) -> str:
    """Say that teams keep the access that a person loses."""
    names = [isolate(team) if team else translate(HIDDEN_TEAM, language) for team in person.teams]
    return " ".join(
        translate(
            Message(
                "{team} keeps its access, {name} does not get it any more.",
                team=team,
                name=isolate(person.username),
            ),
            language,
        )
        for team in names
    )


def group_people(
    assignments: Iterable[Mapping[str, Any]], asset: AssetAccess, language: Language
) -> list[SharedWith]:
    """Return the people of a list of assignments: the owner, then teams and people by name, then the public."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for record in assignments:
        by_name.setdefault(username(record.get("user") or record["team"]), []).append(record)
    people = [_to_person(name, records, asset, language) for name, records in by_name.items()]
    return sorted(people, key=lambda each: _sort_key(each, language))


def _sort_key(person: SharedWith, language: Language) -> tuple[Any, ...]:
    is_last = person.is_public, not person.is_team, person.is_hidden
    return not person.is_owner, *is_last, collation_key(person.name, language), person.username


def _to_person(
    name: str, records: Sequence[Mapping[str, Any]], asset: AssetAccess, language: Language
) -> SharedWith:
    held = frozenset(codename(each["permission"]) for each in records)
    partial: list[Any] = next(
        (each["partial_permissions"] for each in records if "partial_permissions" in each), []
    )
    filters = read_filters(partial)
    is_owner = name == asset.owner
    shown = (
        ()
        if is_owner or "manage_asset" in held
        else tuple(each for each in PERMISSION_ORDER if each in held)
    )
    ends = _latest_ends(records)
    team_name = records[0].get("team__name") or ""
    return SharedWith(
        username=name,
        name=display_name(name, language, {name: team_name} if "team" in records[0] else None),
        is_owner=is_owner,
        is_public=name == PUBLIC_USERNAME,
        is_team="team" in records[0],
        is_hidden="team" in records[0] and not team_name,
        teams=tuple(dict.fromkeys(each["via"]["name"] or "" for each in records if "via" in each)),
        permissions=held,
        inherited=frozenset(
            codename(each["permission"])
            for each in records
            if each.get("inherited") and "via" not in each
        ),
        filters=filters,
        sentence=access_sentence(held, filters, asset.asset_type, language, is_owner=is_owner),
        labels=tuple(short_label(each, asset.asset_type, language) for each in shown)
        if len(shown) > 1
        else (),
        ends=ends,
        shown_ends=_show_ends(ends, held, asset.asset_type, language),
    )


def _latest_ends(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return when permissions end. One that is given here and by the collection ends with the later of both."""
    ends: dict[str, str | None] = {}
    for record in records:
        permission, end = codename(record["permission"]), record.get("expires_at")
        known = ends.get(permission, end)
        ends[permission] = (
            None if end is None or known is None else max(known, end, key=datetime.fromisoformat)
        )
    return {permission: end for permission, end in ends.items() if end is not None}


def _show_ends(
    ends: Mapping[str, str], held: Collection[str], asset_type: str, language: Language
) -> tuple[ShownEnd, ...]:
    if len(ends) == len(held) and len(set(ends.values())) == 1:
        return (ShownEnd(next(iter(ends.values())), ()),)
    times = sorted(set(ends.values()), key=datetime.fromisoformat)
    ordered = [each for each in PERMISSION_ORDER if each in ends]
    return tuple(
        ShownEnd(
            time,
            tuple(
                short_label(each, asset_type, language) for each in ordered if ends[each] == time
            ),
        )
        for time in times
    )


def read_filters(partial_permissions: Iterable[Mapping[str, Any]]) -> Filters:
    """Return the filters of a record by codename."""
    return {codename(each["url"]): tuple(each["filters"]) for each in partial_permissions}


class ShownEffect(msgspec.Struct, frozen=True):
    """An effect for a page: a sign, a label and the reason."""

    sign: str  # + − ~
    kind: str
    label: str
    why: str


class ShownChange(msgspec.Struct, frozen=True):
    """What changes for one person, and what the person can do afterwards."""

    username: str
    name: str
    effects: tuple[ShownEffect, ...]
    result: str


_SIGNS = {"granted": "+", "allowed": "+", "removed": "−", "denied": "−"}


def show_changes(
    record: Mapping[str, Any],
    people: Iterable[SharedWith],
    asset: AssetAccess,
    language: Language,
    teams: TeamNames | None = None,
) -> list[ShownChange]:
    """Return the effects of a `ChangeRecord` by person. Those for whom nothing changes are left out."""
    known = {person.username: person for person in people}
    effects: dict[str, list[Mapping[str, Any]]] = {}
    for each in record["effects"]:
        person = known.get(username(each["user"]))
        # What depends on a denied permission is denied, too. Nobody loses what they do not have.
        if (
            each["effect"] != "denied"
            or person is None
            or codename(each["permission"]) in person.permissions
        ):
            effects.setdefault(username(each["user"]), []).append(each)
    results = {username(each["user"]): each["permissions"] for each in record["result"]}
    return [
        ShownChange(
            username=name,
            name=display_name(name, language, teams),
            effects=tuple(show_effect(each, language) for each in changed),
            result=_result_sentence(
                results.get(name, ()), changed, known.get(name), asset, language
            ),
        )
        for name, changed in effects.items()
    ]


def show_effect(record: Mapping[str, Any], language: Language) -> ShownEffect:
    kind, label, why = record["effect"], record["label"], record["why"]
    if record.get("expires_at"):
        why = f"{why} · {until_text(record['expires_at'], language)}"
    elif kind == "ends":
        label = translate(Message("{label}: no longer ends", label=label), language)
    return ShownEffect(_SIGNS.get(kind, "~"), kind, label, why)


def until_text(time: str, language: Language) -> str:
    return translate(Message("until {date}", date=Formatter(language).date(time)), language)


def _result_sentence(
    links: Iterable[str],
    effects: Iterable[Mapping[str, Any]],
    person: SharedWith | None,
    asset: AssetAccess,
    language: Language,
) -> str:
    filters: Filters = {} if person is None else person.filters
    for each in effects:
        if "partial_permissions" in each:
            filters = read_filters(each["partial_permissions"])
    return access_sentence({codename(link) for link in links}, filters, asset.asset_type, language)
