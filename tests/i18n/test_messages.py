"""Translation of messages, with and without plurals."""

import msgspec
import pytest

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import (
    Message,
    MessageData,
    PluralMessage,
    message_from_data,
    message_to_data,
    translate,
)


def test_values_can_be_messages() -> None:
    message = Message("Enter a whole number from {low} to {high}.", low=1, high="{low}")
    assert str(message) == "Enter a whole number from 1 to {low}."
    message = Message(
        "{method} is not allowed here; allowed methods: {allowed}.",
        method="X",
        allowed=Message("Password"),
    )
    assert (
        translate(message, Language.FRENCH)
        == "X n'est pas possible ici\u00a0; ces méthodes le sont\u00a0: Mot de passe."
    )


def test_untranslated_message_is_shown_in_english() -> None:
    assert (
        translate(Message("Not in any catalogue {n}", n=1), Language.ARABIC)
        == "Not in any catalogue 1"
    )
    for count, text in ((0, "0 entries"), (1, "1 entry"), (2, "2 entries")):
        message = PluralMessage("{count} entry", "{count} entries", count)
        assert {translate(message, language) for language in Language} == {text}


def test_plural_form_follows_the_number() -> None:
    expected = {
        0: "0 صف",
        1: "صف واحد",
        2: "صفين",
        3: "3 صفوف",
        11: "11 صفًا",
        100: "100 صف",
        103: "103 صفوف",
    }
    messages = {count: PluralMessage("{count} row", "{count} rows", count) for count in expected}
    assert {count: translate(each, Language.ARABIC) for count, each in messages.items()} == expected


ROWS = PluralMessage("{count} row", "{count} rows", 11)


@pytest.mark.parametrize(
    "message",
    [
        Message("Password"),
        Message("There is no region {id}.", id="9"),
        ROWS,
        Message("{rows}!", rows=ROWS),
    ],
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
