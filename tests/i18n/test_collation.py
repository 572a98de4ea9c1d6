"""The order of names in each language. What is expected here was written down by hand."""

import random

import pytest

from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language


@pytest.mark.parametrize(
    ("language", "ordered"),
    [
        (Language.ENGLISH, ["Ålesund", "Cote", "Côte", "côté", "Coted", "Émile", "Emma", "Zoe"]),
        (Language.FRENCH, ["cote", "coté", "côte", "côté", "Émirats arabes unis", "Équateur", "Espagne", "Zambie"]),
        (Language.SPANISH, ["nación", "nube", "ñame", "ñu", "oca"]),
        (Language.ARABIC, ["آسيا", "إثيوبيا", "أذربيجان", "ألبانيا", "بنغلاديش", "تونس", "Nepal"]),
    ],
)
def test_order_of_names(language: Language, ordered: list[str]) -> None:
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert sorted(shuffled, key=lambda name: collation_key(name, language)) == ordered


def test_letter_of_its_own_in_one_language_only() -> None:
    names = ["nube", "ñame"]
    assert sorted(names, key=lambda name: collation_key(name, Language.ENGLISH)) == ["ñame", "nube"]
    assert sorted(names, key=lambda name: collation_key(name, Language.SPANISH)) == ["nube", "ñame"]


def test_arabic_script_comes_first_in_arabic() -> None:
    names = ["Nepal", "نيبال"]
    assert sorted(names, key=lambda name: collation_key(name, Language.ARABIC)) == ["نيبال", "Nepal"]
    assert sorted(names, key=lambda name: collation_key(name, Language.FRENCH)) == ["Nepal", "نيبال"]
