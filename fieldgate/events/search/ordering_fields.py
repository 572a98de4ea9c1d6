"""The fields that lists of events can be ordered by, and where their values come from; `ordering.py` does the ordering.

`ORDERINGS` is the only list of them: a field cannot be offered without an implementation.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from fieldgate.events.facets import DISASTER_TYPE, SEVERITY, Facet
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText, in_language
from fieldgate.reference.reference_data import ReferenceData


class SourceFields(msgspec.Struct):
    """The fields of packed events that orderings need; the decoder skips the rest."""

    name: LocalizedText = {}
    summary: LocalizedText = {}
    num_affected: int | None = None
    glide: str = ""
    original_language: str = "en"


class ColumnOrdering(NamedTuple):
    """By a column of the index."""

    column: str


class FacetOrdering(NamedTuple):
    """By a facet, whose values are listed in order."""

    facet: Facet
    values: Callable[[ReferenceData, Language], Sequence[int]]


class SourceOrdering(NamedTuple):
    """By a value read from the packed events; None and "" come last."""

    value: Callable[[SourceFields, Language], str | bytes | int | None]


Ordering = ColumnOrdering | FacetOrdering | SourceOrdering

ORDERINGS: dict[str, Ordering] = {
    "disaster_start_date": ColumnOrdering("starts"),
    "created_at": ColumnOrdering("created"),
    "updated_at": ColumnOrdering("updated"),
    "dtype": FacetOrdering(
        DISASTER_TYPE,
        lambda reference_data, language: reference_data.type_records.by_name(language),
    ),
    "name": SourceOrdering(lambda fields, language: _text_key(fields.name, fields, language)),
    "summary": SourceOrdering(lambda fields, language: _text_key(fields.summary, fields, language)),
    "num_affected": SourceOrdering(lambda fields, _: fields.num_affected),
    "glide": SourceOrdering(lambda fields, _: fields.glide),
    "ifrc_severity_level": FacetOrdering(SEVERITY, lambda _, __: range(3)),
    "id": ColumnOrdering("ids"),
}


def _text_key(texts: LocalizedText, fields: SourceFields, language: Language) -> bytes | None:
    text = in_language(texts, language, fields.original_language)
    return collation_key(text, language) if text else None
