"""Texts that a search takes for the same, and texts that it does not."""

import sys
import unicodedata
from collections.abc import Iterator
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.folding import fold_text

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
MAX_BYTES = 33  # of a folded character; SQLite searches for at most 50,000 bytes


def all_characters() -> Iterator[str]:
    return map(chr, range(sys.maxunicode + 1))


@pytest.mark.parametrize(
    "same",
    [
        ["Türkiye", "Turkiye", "TURKIYE", "TÜRKİYE", "Tu\u0308rkiye", "Tür\u00adkiye"],
        ["Côte d’Ivoire", "cote d'ivoire", "COTE D`IVOIRE", "Côte d‘Ivoire", "Côte d´Ivoire", "Côte dʼIvoire"],
        ["Łódź", "lodz"],
        ["Åland", "aland"],
        ["Straße", "STRASSE", "STRAẞE"],
        ["Œuvre", "oeuvre"],
        ["Þingvellir", "thingvellir"],
        ["Diyarbakır", "DIYARBAKIR", "diyarbakir"],
        ["Ɓauchi, Ƙano, Ɖe", "bauchi, kano, de"],
        ["Guinea‑Bissau", "Guinea–Bissau", "guinea-bissau"],
        ["“flood”", '"flood"', "«flood»"],
        ["Ёлка", "елка"],
        ["Ηρακλής", "ΗΡΑΚΛΉΣ"],
        ["إيران", "ايران", "أيران", "ٱيران", "ایران", "اىران", "إيرـــان"],
        ["القاهرة", "القاهره"],
        ["كركوك", "کرکوک"],
        ["مُحَمَّد", "محمد", "م\u200dحمد", "\u200fمحمد"],
        ["ﻻجئ", "لاجئ", "لاجي"],
        ["٢٠٢٦", "۲۰۲۶", "2026", "２０２６", "२०२६"],
        ["ha\u200bshtag", "hashtag"],
    ],
    ids=lambda same: same[0],
)  # fmt: skip
def test_what_is_the_same(same: list[str]) -> None:
    assert len({fold_text(text) for text in same}) == 1


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("क़", "क"),  # nukta
        ("क्", "क"),  # virama
        ("が", "か"),  # voiced
        ("ดำ", "ดา"),
        ("กู", "กุ"),  # vowels of Thai
        ("د", "ذ"),
        ("ه", "ح"),
        ("c", "k"),
        ("1", "l"),
    ],
)
def test_what_is_another_word(one: str, another: str) -> None:
    assert fold_text(one) != fold_text(another)


def test_each_character_of_unicode() -> None:
    for character in all_characters():
        folded = fold_text(character)
        assert fold_text(folded) == folded, ascii(character)
        assert len(folded.encode("utf-8", "surrogatepass")) <= MAX_BYTES, ascii(character)


@pytest.mark.nightly
@pytest.mark.parametrize("form", get_args(Form))
def test_each_character_in_a_normal_form(form: Form) -> None:
    """NFKC makes a space and an accent of the accent alone, which is typed for an apostrophe."""
    different = [
        character
        for character in all_characters()
        if fold_text(unicodedata.normalize(form, character)) != fold_text(character)
    ]
    assert set(different) <= {"´", "\u1ffd"}


@given(st.text(), st.text())
def test_folding(text: str, more: str) -> None:
    folded = fold_text(text)
    assert fold_text(folded) == folded
    assert folded == fold_text(text.casefold()) == fold_text(text.upper())
    assert fold_text(text + more) == folded + fold_text(more), "a part is found in the whole"


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_keeps_its_letters(text: str) -> None:
    assert fold_text(text) == text.lower().replace("`", "'")
