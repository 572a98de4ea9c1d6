"""Records of imports, from rows of the store."""

from functools import lru_cache

from msgspec import json

from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.db import Timestamp
from fieldgate.http.links import Link, encode
from fieldgate.i18n.languages import Language
from fieldgate.imports.messages import localize_messages
from fieldgate.imports.schemas import PATH, ImportRecord
from fieldgate.imports.store import ImportRow

# Encoded records are kept by their whole rows, so they cannot be stale. They take 2 to 5 kB each.
MAX_KEPT_RECORDS = 2048
MAX_KEPT_CHARS = 1000  # of the messages in a row


def import_record(row: ImportRow, language: Language) -> ImportRecord:
    return ImportRecord(
        url=Link(f"{PATH}{row.uid}/"),
        status=row.status,
        messages=localize_messages(language, json.decode(row.messages)),
        uid=row.uid,
        date_created=Timestamp.unpack(row.created_at),
        filename=row.filename,
        destination=None
        if row.destination_uid is None
        else Link(f"{ASSETS_PATH}{row.destination_uid}/"),
        library=bool(row.is_library),
        desired_type=row.desired_type or None,
    )


def encode_import(row: ImportRow, language: Language) -> bytes:
    """Encode the record of an import, with unresolved links."""
    return (
        _encode_and_keep(row, language)
        if len(row.messages) <= MAX_KEPT_CHARS
        else _encode(row, language)
    )


def _encode(row: ImportRow, language: Language) -> bytes:
    return encode(import_record(row, language))


_encode_and_keep = lru_cache(MAX_KEPT_RECORDS)(_encode)
