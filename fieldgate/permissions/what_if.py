"""What would happen if several permissions were assigned and removed at once, without any asset.

outcome = change(frozenset({"view_asset"}), assigned={"view_submissions"}, removed=(), asset_type="survey")
"""

from collections.abc import Collection, Iterable

from fieldgate.i18n.messages import Message
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL, implied
from fieldgate.permissions.effects import contradiction_message, not_for_type_message
from fieldgate.permissions.rules import Codenames, PermissionState, RuleOutcome
from fieldgate.permissions.submission_filters import ANY_SUBMISSIONS


def change(
    held: Codenames, *, assigned: Collection[str], removed: Collection[str], asset_type: str
) -> RuleOutcome:
    """Remove, then assign, permissions of somebody who holds `held`, which includes implied ones."""
    state = PermissionState(granted=held, filters=ANY_SUBMISSIONS if PARTIAL in held else {})
    taken = rules.remove(state, frozenset(removed), asset_type)
    given = rules.assign(taken.state, frozenset(assigned), asset_type, ANY_SUBMISSIONS)
    return RuleOutcome(given.state, taken.effects + given.effects)


def name_errors(names: Iterable[str], asset_type: str) -> list[Message]:
    """Return what is wrong with a list of permissions that are held or assigned together."""
    named = frozenset(names)
    known = named & BY_CODENAME.keys()
    pair = rules.find_contradiction(known, asset_type)
    return [
        *map(unknown_permission_message, sorted(named - known)),
        *map(not_for_type_message, sorted(known - rules.assignable(asset_type))),
        *([contradiction_message(*pair)] if pair else []),
    ]


def removal_errors(removed: Iterable[str], assigned: Iterable[str]) -> list[Message]:
    """Return which permissions cannot be removed while others are assigned."""
    named, kept = frozenset(removed), frozenset(assigned)
    unknown = [unknown_permission_message(each) for each in sorted(named - BY_CODENAME.keys())]
    needed = [
        Message(
            "{permission} cannot be removed: {because} needs it.", permission=each, because=other
        )
        for each in sorted(named & BY_CODENAME.keys())
        for other in sorted(kept & BY_CODENAME.keys())
        if each == other or each in implied(other)
    ]
    return unknown + needed[:1]


def unknown_permission_message(codename: str) -> Message:
    return Message("There is no permission {codename}.", codename=codename[:100])
