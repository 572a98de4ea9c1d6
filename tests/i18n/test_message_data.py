"""Messages as data."""

import msgspec
import pytest

from fieldgate.i18n.languages import Language
from fieldgate.i18n.message_data import MessageData, message_from_data, message_to_data
from fieldgate.i18n.messages import Message, PluralMessage, translate

ROWS = PluralMessage("{count} row", "{count} rows", 11)


@pytest.mark.parametrize(
    "message",
    [Message("Password"), Message("There is no region {id}.", id="9"), ROWS, Message("{rows}!", rows=ROWS)],
)
def test_round_trip(message: Message) -> None:
    encoded = msgspec.json.encode(message_to_data(message))
    again = message_from_data(msgspec.json.decode(encoded, type=MessageData))
    for language in Language:
        assert translate(again, language) == translate(message, language)


@pytest.mark.parametrize("values", [{}, {"count": "11"}, {"count": None}])
def test_plural_without_a_number_is_refused(values: dict[str, str | None]) -> None:
    with pytest.raises(ValueError, match="needs a count"):
        message_from_data(MessageData("{count} row", values, "{count} rows"))  # type: ignore[arg-type]
