"""Catalogues are complete, and every form of every plural is there."""

import re
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from fieldgate.i18n import catalogs
from fieldgate.i18n.catalogs import catalog_path, load_catalog
from fieldgate.i18n.languages import TRANSLATED_LANGUAGES, Language
from fieldgate.i18n.messages import PluralMessage, translate

COUNTS = (0, 1, 2, 3, 11, 100, 1000)
SAME_AS_IN_ENGLISH = {(Language.FRENCH, "{count} question")}


def _load_script() -> ModuleType:
    path = Path(__file__).parent.parent.parent / "scripts" / "collect-messages"
    loader = SourceFileLoader("collect_messages", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


collect_messages = _load_script()


@cache
def all_messages() -> frozenset[Any]:
    return frozenset(collect_messages.collect())


def all_plurals() -> list[tuple[str, str]]:
    return sorted(message for message in all_messages() if isinstance(message, tuple))


def _read(language: Language) -> Catalog:
    with catalog_path(language).open("rb") as file:
        return read_po(file)


def _placeholders(text: str) -> set[str]:
    return set(re.findall(r"{\w+}", text))


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_every_message_is_translated_and_no_entry_is_unused(language: Language) -> None:
    entries = {entry.id: entry for entry in _read(language) if entry.id}
    assert set(entries) == all_messages()
    assert [entry.id for entry in entries.values() if not entry.string or entry.fuzzy] == []


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_translations_keep_the_placeholders(language: Language) -> None:
    for entry in _read(language):
        if not entry.id:
            continue
        if isinstance(entry.id, str):
            assert sorted(re.findall(r"{\w+}", entry.id)) == sorted(re.findall(r"{\w+}", str(entry.string))), entry.id
            continue
        singular, plural = entry.id
        assert _placeholders(singular) == _placeholders(plural)
        for form in entry.string or ():  # `one word` needs no number
            assert _placeholders(form) | {"{count}"} == _placeholders(plural), form


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("count", COUNTS)
def test_every_plural_renders_every_number(language: Language, count: int) -> None:
    for singular, plural in all_plurals():
        values = {name[1:-1]: f"<{name[1:-1]}>" for name in _placeholders(plural) - {"{count}"}}
        shown = translate(PluralMessage(singular, plural, count, **values), language)
        assert "{" not in shown
        assert str(count) in shown or count in (1, 2), shown
        assert all(value in shown for value in values.values())
        if language in TRANSLATED_LANGUAGES and (language, singular) not in SAME_AS_IN_ENGLISH:
            assert shown != str(PluralMessage(singular, plural, count, **values))


def test_a_plural_with_a_missing_form_is_shown_in_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fr" / "LC_MESSAGES" / "fieldgate.po"
    path.parent.mkdir(parents=True)
    path.write_text(
        'msgid ""\nmsgstr ""\n"Language: fr\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
        '"Plural-Forms: nplurals=2; plural=(n > 1);\\n"\n\n'
        'msgid "{count} row"\nmsgid_plural "{count} rows"\nmsgstr[0] "{count} ligne"\nmsgstr[1] ""\n\n'
        'msgid "Password"\nmsgstr ""\n'
    )
    monkeypatch.setattr(catalogs, "LOCALE_DIR", tmp_path)
    catalog = load_catalog.__wrapped__(Language.FRENCH)
    assert catalog.ngettext("{count} row", "{count} rows", 2) == "{count} rows"
    assert catalog.gettext("Password") == "Password"


def test_collecting_keeps_translations_and_starts_new_catalogues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {language: catalog_path(language).read_bytes() for language in TRANSLATED_LANGUAGES}
    monkeypatch.setattr(catalogs, "LOCALE_DIR", tmp_path)
    new, *kept = TRANSLATED_LANGUAGES
    for language in kept:
        catalog_path(language).parent.mkdir(parents=True)
        catalog_path(language).write_bytes(before[language])
    collect_messages.main()
    assert {language: catalog_path(language).read_bytes() for language in kept} == {each: before[each] for each in kept}
    catalog = _read(new)
    assert catalog.num_plurals == _number_of_plurals(before[new])
    assert {entry.id for entry in catalog if entry.id} == all_messages()
    assert (
        f"{new.english_name}: {len(all_messages())} messages, {len(all_messages())} to translate"
        in capsys.readouterr().out
    )


def test_no_two_messages_differ_only_in_spaces_or_hyphens() -> None:
    """Otherwise the same word is spelled in two ways, and translated twice."""
    spellings: dict[str, set[str]] = {}
    for message in all_messages():
        for text in message if isinstance(message, tuple) else (message,):
            spellings.setdefault(re.sub(r"[\s-]+", "", text).casefold(), set()).add(text.casefold())
            assert not re.search(r"user[ -]name", text.casefold()), "it is a username"
    assert [each for each in spellings.values() if len(each) > 1] == []


def _number_of_plurals(content: bytes) -> int:
    found = re.search(rb"nplurals=(\d)", content)
    assert found is not None
    return int(found[1])
