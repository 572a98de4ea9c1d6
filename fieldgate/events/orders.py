"""The orders of event lists. Unknown values come last, and the id breaks ties, so that every order is total.

Most orders are those of a column. Names and summaries are ordered by the rules of the reader's language, which no
database knows: such a list is sorted here, when somebody asks for it.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, case, null, select

from fieldgate.db import ReadTransaction
from fieldgate.db.kept_lists import Columns
from fieldgate.events.records import Viewer
from fieldgate.events.tables import event_contents, events
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText, in_language

BATCH_SIZE = 1_000  # contents that are decoded at a time

Terms = Sequence[tuple[str, bool]]  # fields, each with whether it descends
DEFAULT_ORDER: Terms = (("disaster_start_date", True),)


class _Texts(msgspec.Struct):
    """The fields of a stored event that are texts in several languages; the decoder skips the others."""

    name: LocalizedText = {}
    summary: LocalizedText = {}
    original_language: str = "en"


_decode_texts = msgspec.json.Decoder(_Texts).decode


def _type_place(viewer: Viewer) -> ColumnElement[Any]:
    """The place of the disaster type in the order of names."""
    by_name = viewer.reference_data.type_records.by_name(viewer.language)
    places = {type_id: place for place, type_id in enumerate(by_name)}
    return case(places, value=events.c.dtype) if places else null()


def _column(column: ColumnElement[Any]) -> Callable[[Viewer], ColumnElement[Any]]:
    return lambda _: column


# What a list is ordered by; None for texts.
ORDERS: Mapping[str, Callable[[Viewer], ColumnElement[Any]] | None] = {
    "disaster_start_date": _column(events.c.disaster_start_date),
    "created_at": _column(events.c.created_at),
    "updated_at": _column(events.c.updated_at),
    "dtype": _type_place,
    "name": None,
    "summary": None,
    "num_affected": _column(events.c.num_affected),
    "glide": _column(events.c.glide),
    "ifrc_severity_level": _column(events.c.ifrc_severity_level),
    "id": _column(events.c.id),
}
_NULLABLE = ("dtype", "num_affected", "glide")


def has_texts(terms: Terms) -> bool:
    """Whether a list has to be sorted here."""
    return any(ORDERS[field] is None for field, _ in terms)


def order_by(terms: Terms, viewer: Viewer) -> list[ColumnElement[Any]]:
    """The order of a list without texts, in SQL."""
    order: list[ColumnElement[Any]] = []
    for field, descends in terms:
        order_of = ORDERS[field]
        if order_of is None:
            raise LookupError(field)
        value = order_of(viewer)
        directed = value.desc() if descends else value.asc()
        order.append(directed.nulls_last() if field in _NULLABLE else directed)
    return [*order, events.c.id.asc()]


def sort_by_texts(
    transaction: ReadTransaction,
    condition: ColumnElement[bool],
    terms: Terms,
    viewer: Viewer,
) -> Columns:
    """The ids and versions of the events that meet a condition, in an order with texts."""
    values = [
        (null() if order_of is None else order_of(viewer)).label(f"value_{number}")
        for number, order_of in enumerate(ORDERS[field] for field, _ in terms)
    ]
    query: Select[Any] = (
        select(events.c.id, events.c.version, event_contents.c.content, *values)
        .join_from(events, event_contents, events.c.id == event_contents.c.id)
        .where(condition)
        .order_by(events.c.id)
    )
    rows: list[list[Any]] = []
    for row in transaction.execute(query.execution_options(yield_per=BATCH_SIZE)):
        keys = _sort_keys(terms, row.content, row[3:], viewer.language)
        rows.append([row.id, row.version, *keys])
    for place in reversed(range(len(terms))):
        rows = _sorted_by(rows, place + 2, descends=terms[place][1])
    ids = array("q", [row[0] for row in rows])
    versions = array("q", [row[1] for row in rows])
    return ids, versions


def _sort_keys(
    terms: Terms, content: bytes, values: Iterable[Any], language: Language
) -> list[Any]:
    """The value of each term; None if the event has none."""
    texts = _decode_texts(content)
    keys = []
    for (field, _), value in zip(terms, values, strict=True):
        if ORDERS[field] is None:
            text = in_language(getattr(texts, field), language, texts.original_language)
            keys.append(collation_key(text, language) if text else None)
        else:
            keys.append(value)
    return keys


def _sorted_by(rows: list[list[Any]], place: int, *, descends: bool) -> list[list[Any]]:
    """Sort by one value; rows that are equal keep their order, and those without a value come last."""
    known = [row for row in rows if row[place] is not None]
    unknown = [row for row in rows if row[place] is None]
    known.sort(key=lambda row: row[place], reverse=descends)
    return known + unknown
