"""CSV files in many languages and code pages are read right, or refused: never with wrong letters."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fieldgate.imports.upload import looks_like_workbook
from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook
from fieldgate.imports.xlsform.text_encoding import SAMPLE_BYTES, guess_code_page
from tests.imports.xlsform.encoded_forms import LABELS, OTHERS, csv_form

UNICODE = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")


def labels_of(data: bytes) -> list[str]:
    form = parse_workbook(data, "form")
    assert isinstance(form, Form)
    return [row["label"][0] for row in form.content["survey"]]


@pytest.mark.parametrize("language", LABELS)
def test_forms_in_the_code_page_of_their_language(language: str) -> None:
    page, text = LABELS[language]
    labels = text.split("|")
    data = csv_form(labels).encode(page)
    assert looks_like_workbook(data)
    assert labels_of(data) == labels
    assert [warning.code for warning in parse_workbook(data, "form").warnings] == ["guessed_encoding"]


@pytest.mark.parametrize("encoding", UNICODE)
@pytest.mark.parametrize("language", LABELS)
def test_unicode_with_and_without_mark(language: str, encoding: str) -> None:
    labels = LABELS[language][1].split("|")
    for number in (1, len(labels)):
        data = csv_form(labels[:number]).encode(encoding)
        assert looks_like_workbook(data)
        assert labels_of(data) == labels[:number]
    assert not parse_workbook(data, "form").warnings


@st.composite
def encoded_forms(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """Some labels of a language, in any order, in its code page."""
    page, text = draw(st.sampled_from([*LABELS.values(), *OTHERS.values()]))
    labels = draw(st.lists(st.sampled_from(text.split("|")), min_size=1, max_size=6, unique=True))
    return labels, csv_form(labels).encode(page)


@settings(max_examples=300, deadline=None)
@given(encoded_forms())
def test_letters_are_right_or_the_file_is_refused(form: tuple[list[str], bytes]) -> None:
    labels, data = form
    assume(not data.isascii())
    try:
        found = labels_of(data)
    except FormRejected as rejection:
        found, refusal = None, rejection
    assert found == labels or (refusal.error_type, "CSV UTF-8" in str(refusal.error)) == ("unknown_encoding", True)


@pytest.mark.parametrize("label", ["Père", "Àé", "é", "Čas", "سنة", "Да", "Größe", "año"])
def test_one_word_is_not_enough(label: str) -> None:
    pages = ("cp1252", "cp1250", "cp1256", "cp1251")
    page = next(page for page in pages if label.encode(page, "ignore").decode(page) == label)
    with pytest.raises(FormRejected, match="unknown_encoding"):
        parse_workbook(csv_form([label]).encode(page), "form")


@pytest.mark.parametrize(
    ("language", "page", "label"),
    [
        ("French (fr)", "cp1252", "Où est le père ?"),
        ("Arabic (ar)", "cp1256", "سنة الميلاد"),
    ],
)
def test_language_of_a_column_helps(language: str, page: str, label: str) -> None:
    assert guess_code_page(csv_form([label], f"label::{language}").encode(page)) == page


def test_letters_at_the_end_of_a_long_file_count() -> None:
    """The first labels are the same in several code pages, the last is not."""
    labels = ["Quel est votre numéro de téléphone ?"] * (SAMPLE_BYTES // 30)
    data = csv_form([*labels, "Où est le père ? Là-bas, à l'école"]).encode("cp1252")
    assert guess_code_page(data) == "cp1252"
    russian = csv_form([*labels, "Сколько вам лет?"]).encode("cp1251", "ignore")
    assert guess_code_page(russian) in (None, "cp1251")


def test_data_that_is_no_text() -> None:
    for data in (b"type,name\n\xff\xfe\x00\x01", b"type,name\n\x81\x8d\x8f\x90\x9d,a\n", bytes(range(256))):
        with pytest.raises(FormRejected) as rejection:
            parse_workbook(data, "form")
        assert rejection.value.error_type in ("unknown_encoding", "unreadable_workbook")


@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_are_guessed_or_not(data: bytes) -> None:
    page = guess_code_page(data)
    assert page is None or page.startswith(("cp", "mac"))


@pytest.mark.parametrize("end", [b"caf\xe9", b"\xd8"])
@pytest.mark.parametrize("language", ["ar", "es", "fr", "ru", "el"])
def test_damaged_unicode_is_refused(language: str, end: bytes) -> None:
    """Most of it is valid UTF-8, which would be wrong letters in every code page."""
    labels = LABELS[language][1].split("|")
    data = csv_form(labels).encode() + b"text,last," + end + b"\n"
    with pytest.raises(FormRejected) as rejection:
        parse_workbook(data, "form")
    assert rejection.value.error_type == "unknown_encoding"
