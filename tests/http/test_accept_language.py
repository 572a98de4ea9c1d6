"""Choosing a language from an Accept-Language header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.http.negotiation import negotiate
from fieldgate.i18n.languages import Language


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
def test_best_language_wins(header: str, expected: str) -> None:
    assert negotiate(header.encode()).value == expected


@pytest.mark.parametrize("language", list(Language))
def test_every_language_can_be_chosen(language: Language) -> None:
    assert negotiate(language.value.encode()) is language


@given(st.binary(max_size=60))
def test_no_header_is_an_error(header: bytes) -> None:
    assert negotiate(header) in Language
