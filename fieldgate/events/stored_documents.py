"""Stored documents: the list template of an event and, after a mark, its row template."""

from collections.abc import Iterable, Sequence
from enum import Enum

from fieldgate.events.csv_rows import RowRenderer, build_row_template
from fieldgate.events.document_templates import TemplateRenderer, build_list_template
from fieldgate.events.model import Event
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

_ROW_MARK = b"\x1c"  # list templates are JSON, which never contains it unescaped


class RecordShape(Enum):
    """What documents are rendered as."""

    RECORD = "record"  # JSON
    ROW = "row"  # CSV


def build_document(event: Event) -> bytes:
    return build_list_template(event) + _ROW_MARK + build_row_template(event)


class DocumentRenderer:
    """Renders documents in one language, with one state of the reference data."""

    def __init__(self, reference_data: ReferenceData, language: Language) -> None:
        self.templates = TemplateRenderer(reference_data, language)
        self._rows = RowRenderer(reference_data, language)

    def render(self, documents: Iterable[bytes], scope: ViewerScope, shape: RecordShape) -> list[bytes]:
        """The records or rows of events, as a caller may see them."""
        if shape is RecordShape.ROW:
            return [self._rows.render(document.partition(_ROW_MARK)[2], scope) for document in documents]
        return [self.templates.render(document.partition(_ROW_MARK)[0], scope) for document in documents]

    def render_joined_rows(self, documents: Sequence[bytes], scope: ViewerScope) -> bytes:
        """The rows of events, one after the other: faster than each by itself."""
        return self._rows.render(b"".join([document.partition(_ROW_MARK)[2] for document in documents]), scope)
