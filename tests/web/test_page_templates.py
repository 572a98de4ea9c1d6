"""What templates share: translated texts with values that are markup."""

import pytest
from markupsafe import Markup, escape

from fieldgate.http.request.hosts import BaseURL
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller
from fieldgate.web.page_templates import PageScope


def scope(language: Language) -> PageScope:
    return PageScope(language, BaseURL("http://localhost", False), "/", {}, Caller())


@pytest.mark.parametrize("language", list(Language))
def test_text_with_markup_is_one_sentence(language: Language) -> None:
    text = scope(language).translate("{share} of CHF {amount} funded", share=Markup("<b>41%</b>"), amount="<i>1</i>")
    assert isinstance(text, Markup)
    assert text.count("<b>41%</b>") == 1
    assert "&lt;i&gt;1&lt;/i&gt;" in text
    assert "{" not in text


def test_text_without_markup_is_escaped_by_the_template() -> None:
    text = scope(Language.ENGLISH).translate("{share} of CHF {amount} funded", share="<b>41%</b>", amount="1")
    assert escape(text) == "&lt;b&gt;41%&lt;/b&gt; of CHF 1 funded"
