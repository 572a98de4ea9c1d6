"""Numbers, money and labels as the languages write them."""

import re
from pathlib import Path

import pytest

import fieldgate.web
from fieldgate.i18n.languages import Language
from fieldgate.web.formatting import Formatter

TEMPLATES = Path(fieldgate.web.__file__).parent / "templates"


@pytest.mark.parametrize(
    ("language", "small", "large"),
    [
        ("en", "CHF 30,000", "CHF 4.2 million"),
        ("fr", "30 000 CHF", "4,2 millions de CHF"),
        ("es", "30.000 CHF", "4,2 millones de CHF"),
        ("ar", "30,000 فرنك سويسري", "4.2 مليون فرنك سويسري"),
    ],
)
def test_money(language: str, small: str, large: str) -> None:
    formatter = Formatter(Language(language))
    shown = [" ".join(formatter.money(value).split()) for value in (30_000, 4_200_000)]
    assert shown == [small, large]


@pytest.mark.parametrize("language", Language)
def test_amounts_of_any_size_are_written(language: Language) -> None:
    """An amount from another server must not take a page down."""
    assert Formatter(language).money(1e308) == Formatter(language).money(1e18)


def test_colon_of_a_label() -> None:
    assert Formatter(Language.FRENCH).labelled("Mots", "crue") == "Mots\u00a0: crue"
    assert Formatter(Language.SPANISH).labelled("Palabras", "crecida") == "Palabras: crecida"


def test_bytes() -> None:
    formatter = Formatter(Language.ENGLISH)
    assert [formatter.bytes(size) for size in (0, 1, 512, 1500)] == [
        "0 bytes",
        "1 byte",
        "512 bytes",
        "1.5 kB",
    ]
    assert "بايت" in Formatter(Language.ARABIC).bytes(0)


def test_comma_of_a_time() -> None:
    shown = {each.value: Formatter(each).datetime("2026-11-16T14:02:00Z") for each in Language}
    assert "16 nov. 2026, 14:02" in shown["fr"]
    assert ("،" in shown["ar"], "," in shown["ar"]) == (True, False)


@pytest.mark.parametrize("template", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.name)
def test_colons_are_in_messages(template: Path) -> None:
    """French has a space before a colon, so that a template cannot add one to a text."""
    shown = re.sub(r"<pre.*?</pre>|\{#.*?#\}", "", template.read_text(), flags=re.DOTALL)
    assert not re.search(r"(\}\}|%\}|</\w+>):", shown)
