"""What an action did to a permission, and why; or why it was refused."""

from enum import Enum

import msgspec

from fieldgate.i18n.messages import Message


class EffectKind(Enum):
    """What happened to a permission."""

    GRANTED = "granted"
    REMOVED = "removed"
    DENIED = "denied"  # the collection or a team does not pass it on any more
    ALLOWED = "allowed"  # the collection or a team may pass it on again
    FILTERED = "filtered"  # the submissions it is for changed
    ENDS = "ends"  # at another time than before, or no longer


class EffectReason(Enum):
    """Why it happened."""

    ASKED = "asked"
    IMPLIED = "implied"  # by `because`
    CONTRADICTED = "contradicted"  # by `because`
    DEPENDENT = "dependent"  # on `because`, which is removed
    NOT_LISTED = "not_listed"  # in the list that replaces all permissions


class Effect(msgspec.Struct, frozen=True):
    permission: str
    kind: EffectKind
    reason: EffectReason
    because: str = ""

    def message(self) -> Message:
        """Describe the effect in a sentence."""
        return Message(
            _EFFECT_MESSAGES[self.kind, self.reason].text,
            permission=self.permission,
            because=self.because,
        )


_EFFECT_MESSAGES = {
    (EffectKind.GRANTED, EffectReason.ASKED): Message("{permission}: granted, as asked."),
    (EffectKind.GRANTED, EffectReason.IMPLIED): Message(
        "{permission}: granted, implied by {because}."
    ),
    (EffectKind.REMOVED, EffectReason.ASKED): Message("{permission}: removed, as asked."),
    (EffectKind.REMOVED, EffectReason.CONTRADICTED): Message(
        "{permission}: removed, contradicted by {because}."
    ),
    (EffectKind.REMOVED, EffectReason.DEPENDENT): Message(
        "{permission}: removed, as it requires {because}."
    ),
    (EffectKind.REMOVED, EffectReason.NOT_LISTED): Message(
        "{permission}: removed, as the new list does not name it."
    ),
    (EffectKind.DENIED, EffectReason.ASKED): Message(
        "{permission}: denied here, as asked, though the collection or a team grants it."
    ),
    (EffectKind.DENIED, EffectReason.DEPENDENT): Message(
        "{permission}: denied here, as it requires {because}."
    ),
    (EffectKind.DENIED, EffectReason.NOT_LISTED): Message(
        "{permission}: denied here, as the new list does not name it."
    ),
    (EffectKind.ALLOWED, EffectReason.ASKED): Message(
        "{permission}: no longer denied here, as asked."
    ),
    (EffectKind.ALLOWED, EffectReason.IMPLIED): Message(
        "{permission}: no longer denied here, implied by {because}."
    ),
    (EffectKind.ALLOWED, EffectReason.DEPENDENT): Message(
        "{permission}: held through a team again, as {because} is removed."
    ),
    (EffectKind.FILTERED, EffectReason.ASKED): Message(
        "{permission}: now for other submissions, as asked."
    ),
    (EffectKind.FILTERED, EffectReason.DEPENDENT): Message(
        "{permission}: now for fewer submissions, as some permissions require {because}."
    ),
    (EffectKind.ENDS, EffectReason.ASKED): Message("{permission}: end changed, as asked."),
    (EffectKind.ENDS, EffectReason.IMPLIED): Message(
        "{permission}: end changed, implied by {because}."
    ),
    (EffectKind.ENDS, EffectReason.DEPENDENT): Message(
        "{permission}: end changed, as it requires {because}."
    ),
}


class RuleViolation(Exception):
    """An action that the rules do not allow. `field` is the request field to blame."""

    def __init__(self, field: str, message: Message) -> None:
        super().__init__(str(message))
        self.field = field
        self.message = message


def not_for_type_message(codename: str) -> Message:
    return Message("{permission} cannot be assigned on an asset of this type.", permission=codename)


def not_for_public_message(codename: str) -> Message:
    return Message("The public cannot be given {permission}.", permission=codename)


def contradiction_message(one: str, other: str) -> Message:
    return Message(
        "{one} and {other} contradict each other: assign one of them.", one=one, other=other
    )
