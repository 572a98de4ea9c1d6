"""Stored documents: the list template of an event and, after a mark, its row template."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from fieldgate.events.document_templates import TemplateRenderer, build_list_template
from fieldgate.events.model import Event
from fieldgate.events.record_shapes import to_rows
from fieldgate.events.row_templates import RowRenderer, build_row_template
from fieldgate.events.visibility import ViewerScope
from fieldgate.http.response.csv_safe import encode_csv
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
        self._by_shape: dict[RecordShape, Callable[[bytes, ViewerScope], bytes]] = {
            RecordShape.RECORD: self._record,
            RecordShape.ROW: self._row,
        }

    def render(self, documents: Iterable[bytes], scope: ViewerScope, shape: RecordShape) -> list[bytes]:
        """The records or rows of events, as a caller may see them."""
        render_one = self._by_shape[shape]
        return [render_one(document, scope) for document in documents]

    def render_joined_rows(self, documents: Sequence[bytes], scope: ViewerScope) -> bytes:
        """The rows of events, one after the other: faster than each by itself."""
        templates = [document.partition(_ROW_MARK)[2] for document in documents]
        if all(templates):
            return self._rows.render(b"".join(templates), scope)
        return b"".join(self.render(documents, scope, RecordShape.ROW))

    def _record(self, document: bytes, scope: ViewerScope) -> bytes:
        return self.templates.render(document.partition(_ROW_MARK)[0], scope)

    def _row(self, document: bytes, scope: ViewerScope) -> bytes:
        template = document.partition(_ROW_MARK)[2]
        return self._rows.render(template, scope) if template else encode_csv(to_rows([self._record(document, scope)]))
