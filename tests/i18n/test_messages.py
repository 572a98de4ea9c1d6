"""Four languages: choosing one, saying messages in it, and the completeness of the catalogues."""

import re
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

import fieldgate
from fieldgate.http.negotiation.accept_language import negotiate
from fieldgate.i18n.catalogs import LOCALE_DIR, load_catalog
from fieldgate.i18n.languages import TRANSLATED_LANGUAGES, Language
from fieldgate.i18n.messages import Message, translate


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", "en"),
        ("fr", "fr"),
        ("FR", "fr"),
        ("fr-CA", "fr"),
        ("ar-dz", "ar"),
        ("es-419,es;q=0.9", "es"),
        ("de", "en"),
        ("zz", "en"),
        ("*", "en"),
        ("de,fr;q=0.8,en;q=0.5", "fr"),
        ("ar;q=0.1,es;q=0.9", "es"),
        ("fr;q=0,es", "es"),
        ("fr;q=0", "en"),
        ("*;q=0.5, ar;q=0.4", "en"),
        ("fr;q=abc, es;q=0.1", "es"),
        ("fr;q=7", "en"),
        (";;;,,,", "en"),
        ("french", "en"),
    ],
)
def test_choosing(header: str, expected: str) -> None:
    assert negotiate(header.encode()).value == expected


@given(st.binary(max_size=60))
def test_no_header_is_an_error(header: bytes) -> None:
    assert negotiate(header) in Language


def test_messages_take_values_and_messages() -> None:
    message = Message("Enter a whole number from {low} to {high}.", low=1, high="{low}")
    assert str(message) == "Enter a whole number from 1 to {low}."
    assert translate(Message("{method} is not possible here; these methods are: {allowed}.",
                                       method="X", allowed=Message("Password")), Language.FRENCH) == (
        "X n'est pas possible ici ; ces méthodes le sont : Mot de passe."
    )  # fmt: skip


def test_what_has_no_translation_is_said_in_english() -> None:
    assert translate(Message("Not in any catalogue {n}", n=1), Language.ARABIC) == "Not in any catalogue 1"


def _messages_in_the_code() -> set[str]:
    methods = [("**.py", "python"), ("web/templates/**.html", "jinja2")]
    keywords = {"Message": None, "_": None}
    found = extract_from_dir(Path(fieldgate.__file__).parent, methods, {}, keywords, ())
    return {text for _, _, text, _, _ in found if isinstance(text, str)}


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_every_message_is_translated_and_none_is_left_over(language: Language) -> None:
    assert set(load_catalog(language)) == _messages_in_the_code()


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_translations_keep_the_placeholders(language: Language) -> None:
    with (LOCALE_DIR / language.value / "LC_MESSAGES" / "fieldgate.po").open("rb") as file:
        for entry in read_po(file):
            placeholders = re.findall(r"{\w+}", str(entry.id))
            assert sorted(placeholders) == sorted(re.findall(r"{\w+}", str(entry.string))), entry.id
            assert not entry.fuzzy
