"""Catalogues are complete, and every form of every plural is there."""

import ast
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
from jinja2 import Environment, nodes

import fieldgate
from fieldgate.i18n.catalogs import catalog_path
from fieldgate.i18n.languages import TRANSLATED_LANGUAGES, Language
from fieldgate.i18n.messages import PluralMessage, translate

PACKAGE = Path(fieldgate.__file__).parent
ARGUMENTS = {"Message": 1, "PluralMessage": 2}  # that are texts
# Here the texts are those of templates, of responses that are translated already, or of stored messages.
TEXTS_OF_OTHERS = ("web/page_templates.py", "http/internal_api.py")
COUNTS = (0, 1, 2, 3, 11, 100, 1000)
SAME_AS_IN_ENGLISH = {
    (Language.FRENCH, "{count} question"),
    (Language.FRENCH, "{count} permission"),
}


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


def test_no_message_of_the_code_is_missed() -> None:
    """Every call of the two classes in the syntax tree, wherever it is written, also inside an f-string."""
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call.func.id not in ARGUMENTS:
                continue
            place = f"{path.relative_to(PACKAGE)}:{call.lineno}"
            texts = call.args[: ARGUMENTS[call.func.id]]
            if all(isinstance(text, ast.Constant) for text in texts):
                found = tuple(text.value for text in texts if isinstance(text, ast.Constant))
                assert (found[0] if len(found) == 1 else found) in all_messages(), place
            elif str(path.relative_to(PACKAGE)) not in TEXTS_OF_OTHERS:
                written = [ast.unparse(text) for text in texts]
                assert all(text.endswith((".text", ".plural")) for text in written), (
                    f"{place}: not the text of a message"
                )


def test_no_message_of_a_template_is_missed() -> None:
    environment = Environment(extensions=["jinja2.ext.do"])
    calls = 0
    for path in (PACKAGE / "web" / "templates").rglob("*.html"):
        for call in environment.parse(path.read_text()).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in ("_", "_n"):
                texts = call.args[: 1 if call.node.name == "_" else 2]
                found = tuple(text.value for text in texts if isinstance(text, nodes.Const))
                assert len(found) == len(texts), (
                    f"{path.name}:{call.lineno}: the text is not written here"
                )
                assert (found[0] if len(found) == 1 else found) in all_messages(), (
                    f"{path.name}:{call.lineno}"
                )
                calls += 1
    assert calls > 1000


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_translations_keep_the_placeholders(language: Language) -> None:
    for entry in _read(language):
        if not entry.id:
            continue
        if isinstance(entry.id, str):
            assert sorted(re.findall(r"{\w+}", entry.id)) == sorted(
                re.findall(r"{\w+}", str(entry.string))
            ), entry.id
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


def test_no_two_messages_differ_only_in_spaces_or_hyphens() -> None:
    """Otherwise the same word is spelled in two ways, and translated twice."""
    spellings: dict[str, set[str]] = {}
    for message in all_messages():
        for text in message if isinstance(message, tuple) else (message,):
            spellings.setdefault(re.sub(r"[\s-]+", "", text).casefold(), set()).add(text.casefold())
            assert not re.search(r"user[ -]name", text.casefold()), "it is a username"
    assert [each for each in spellings.values() if len(each) > 1] == []
