"""The order of names in each language. What is expected here was written down by hand."""

import random

import pytest

from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language


@pytest.mark.parametrize(
    ("language", "ordered"),
    [
        (Language.ENGLISH, ["Ålesund", "Cote", "Côte", "côté", "Coted", "Émile", "Emma", "Zoe"]),
        (
            Language.FRENCH,
            [
                "cote",
                "coté",
                "côte",
                "côté",
                "Émirats arabes unis",
                "Équateur",
                "Espagne",
                "Zambie",
            ],
        ),
        (Language.SPANISH, ["nación", "nube", "ñame", "ñu", "oca"]),
        (Language.ARABIC, ["آسيا", "إثيوبيا", "أذربيجان", "ألبانيا", "بنغلاديش", "تونس", "Nepal"]),
    ],
)
def test_order_of_names(language: Language, ordered: list[str]) -> None:
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert sorted(shuffled, key=lambda name: collation_key(name, language)) == ordered
