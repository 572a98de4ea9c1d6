"""Validation of query parameters and body fields as structs."""

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from fieldgate.errors import ValidationError
from fieldgate.http.request.validation import NULL_CHARACTERS, field_names, parse_struct
from fieldgate.i18n.messages import Message


class Filters(msgspec.Struct):
    region: int | None = None
    is_featured: bool | None = None
    search: Annotated[str, Meta(max_length=5)] = ""
    note: str = ""
    renamed: str = msgspec.field(default="", name="countries__in")
    details: dict[str, str] | None = None
    members: list[str] | None = None


def test_values_are_converted_by_type() -> None:
    found = parse_struct(
        Filters,
        {"region": "0", "is_featured": "true", "search": "x", "countries__in": "1,2", "y": "z"},
    )
    assert found == Filters(region=0, is_featured=True, search="x", renamed="1,2")
    assert field_names(Filters) == {
        "region",
        "is_featured",
        "search",
        "note",
        "countries__in",
        "details",
        "members",
    }


def test_blank_is_absent_in_a_query() -> None:
    assert parse_struct(Filters, {"region": "", "search": ""}, blank_is_absent=True) == Filters()
    with pytest.raises(ValidationError):
        parse_struct(Filters, {"region": ""})


def test_all_invalid_fields_are_reported() -> None:
    with pytest.raises(ValidationError) as refused:
        parse_struct(
            Filters,
            {
                "region": "x",
                "is_featured": "maybe",
                "search": "too long",
                "note": 5,
                "countries__in": "\0",
                "details": [],
                "members": {},
            },
        )
    assert {name: str(messages[0]) for name, messages in refused.value.fields.items()} == {
        "region": "Enter a whole number.",
        "is_featured": "Enter true or false.",
        "search": "Enter text of at most 5 characters.",
        "note": "Enter text.",
        "countries__in": "Null characters are not allowed.",
        "details": "Send an object.",
        "members": "Send a list.",
    }


class Lists(msgspec.Struct):
    countries: tuple[int, ...] = ()
    kinds: tuple[Literal[0, 1], ...] = ()
    since: datetime | None = None
    until: Annotated[datetime, Meta(description="A timestamp.")] | None = None


@pytest.mark.parametrize("name", ["region", "is_featured"])
def test_the_text_null_is_not_none(name: str) -> None:
    with pytest.raises(ValidationError):
        parse_struct(Filters, {name: "null"})


def test_lists_are_comma_separated() -> None:
    assert parse_struct(Lists, {"countries": " 1, 2,,3,", "kinds": "1,0"}) == Lists(
        (1, 2, 3), (1, 0)
    )
    assert parse_struct(Lists, {"countries": ","}) == Lists()
    assert parse_struct(Lists, {"countries": [1, 2]}) == Lists((1, 2)), "as JSON sends it"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2012-01-01T00:00:00", datetime(2012, 1, 1, tzinfo=UTC)),
        ("2012-01-01", datetime(2012, 1, 1, tzinfo=UTC)),
        (" 2012-01-01 05:30 ", datetime(2012, 1, 1, 5, 30, tzinfo=UTC)),
        ("2020-02-29T00:00:00.000Z", datetime(2020, 2, 29, tzinfo=UTC)),
        ("2020-02-29T02:00:00+02:00", datetime(2020, 2, 29, tzinfo=UTC)),
        ("2020-02-29T02:00:00 02:00", datetime(2020, 2, 29, tzinfo=UTC)),
    ],
)
def test_timestamps_may_lack_time_and_zone(text: str, expected: datetime) -> None:
    read = parse_struct(Lists, {"since": text, "until": text})
    assert read.since == read.until == expected


def test_invalid_list_member_is_quoted() -> None:
    with pytest.raises(ValidationError) as refused:
        parse_struct(Lists, {"countries": "1,abc", "kinds": "1,7", "since": "yesterday"})
    assert {name: str(messages[0]) for name, messages in refused.value.fields.items()} == {
        "countries": "“abc” is not valid. Enter a whole number.",
        "kinds": "“7” is not valid. Choose one of: 0, 1.",
        "since": "Enter a date or a time such as 2026-11-15 or 2026-11-15T08:30:00Z.",
    }
    with pytest.raises(ValidationError):
        parse_struct(Lists, {"since": "0001-01-01T00:00:00+14:00"})
    with pytest.raises(ValidationError):
        parse_struct(Lists, {"countries": {"a": 1}})


def _even(number: int) -> None:
    if number % 2:
        raise ValueError(
            Message("“{value}” is not valid. {expected}", value=str(number), expected="Even.")
        )


class Checked(msgspec.Struct):
    pair: Annotated[int, Meta(extra={"check": _even})] = 0
    other: int = 0


def test_check_function_of_a_field() -> None:
    assert parse_struct(Checked, {"pair": "2"}).pair == 2
    with pytest.raises(ValidationError) as caught:
        parse_struct(Checked, {"pair": "3", "other": "x"})
    messages = {name: str(messages[0]) for name, messages in caught.value.fields.items()}
    assert messages == {"pair": "“3” is not valid. Even.", "other": "Enter a whole number."}


class Nested(msgspec.Struct):
    queries: list[dict[str, int]] | None = None
    details: dict[str, int] = {}


def test_form_fields_hold_lists_and_objects_as_json() -> None:
    read = parse_struct(Nested, {"queries": '[{"a": 1}]', "details": '{"b": 2}'})
    assert (read.queries, read.details) == ([{"a": 1}], {"b": 2})
    for text in ("[", "x", "{}", '["a"]', "[" * 60 + "]" * 60, "[" * 5000):
        with pytest.raises(ValidationError) as refused:
            parse_struct(Nested, {"queries": text})
        assert [str(message) for message in refused.value.fields["queries"]] == ["Send a list."]


class Numbers(msgspec.Struct):
    ids: tuple[int, ...] = ()


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), st.sampled_from(["", " ", "\t"]))))
def test_integer_lists_in_any_spelling(numbers: list[tuple[int, str]]) -> None:
    expected = Numbers(tuple(number for number, _ in numbers))
    assert (
        parse_struct(Numbers, {"ids": ",".join(str(number) for number, _ in numbers)}) == expected
    )
    assert (
        parse_struct(
            Numbers, {"ids": ",".join(f"{blank}{number}{blank}" for number, blank in numbers)}
        )
        == expected
    )


@pytest.mark.parametrize(
    "text",
    [
        "1,",
        ",1",
        "1,,1",
        " 1 ,1",
        "1,٢",
        "1,x",
        "1.5",
        "+1",
        "1_0",
        "9" * 18,
        "9" * 19,
        "0x1",
        "0",
        "1,0",
        "007",
        "1,00",
    ],
)
def test_fast_and_slow_list_parsing_agree(text: str) -> None:
    """A list is converted at once, or member by member if that fails, with the same result."""
    members = [member for each in text.split(",") if (member := each.strip())]

    def read(one: str) -> tuple[int, ...] | None:
        try:
            return parse_struct(Numbers, {"ids": one}).ids
        except ValidationError:
            return None

    alone = [read(f"{member} ") for member in members]
    expected = None if None in alone else tuple(number for each in alone for number in each or ())
    assert read(text) == expected


def test_null_characters_in_lists() -> None:
    """PostgreSQL cannot store them, so a statement with one would fail there."""

    class Names(msgspec.Struct):
        names: list[str]

    with pytest.raises(ValidationError) as refused:
        parse_struct(Names, {"names": ["a", "b\0"]})
    assert refused.value.fields == {"names": [NULL_CHARACTERS]}
