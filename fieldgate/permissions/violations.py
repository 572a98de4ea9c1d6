"""Actions that the rules do not allow, and the messages about them."""

from fieldgate.i18n.messages import Message


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
    return Message("{one} and {other} contradict each other: assign one of them.", one=one, other=other)
