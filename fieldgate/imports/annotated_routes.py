"""`/api/v2/imports/{uid}/annotated.xlsx`: the imported file with its problems marked, to correct it."""

from collections.abc import AsyncGenerator

import msgspec

from fieldgate.assets.workbook_downloads import MEDIA_TYPES, XLSX_SUFFIX
from fieldgate.errors import Header, NotFound
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import raw
from fieldgate.http.response.attachment import attachment
from fieldgate.http.response.responses import API_CSP, PRIVATE_NO_CACHE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.imports.annotator import WorkbookAnnotator, issue_comments
from fieldgate.imports.messages import localize_messages
from fieldgate.imports.routes import TAG, import_not_found
from fieldgate.imports.schemas import PATH
from fieldgate.imports.store import ImportStore
from fieldgate.imports.upload import strip_extension

NOTHING_TO_MARK = Message("This import has no problems or warnings to mark.")

MARKED = "-marked"  # at the end of the file name, so that people can tell it from their own file

_CHUNK_BYTES = 256 * 1024


@raw(
    PATH + "{uid}/annotated.xlsx",
    title=Message("File with its problems marked"),
    description=Message(
        "A copy of the imported file as an Excel workbook. Each cell with a problem or a warning has a colour and a "
        "comment that says what to do. All cells are text."
    ),
    tag=TAG,
    formats=(Format.JSON,),
    media_type=MEDIA_TYPES[XLSX_SUFFIX],
    schema={"type": "string", "format": "binary"},
    error_statuses=(404, 503),
)
async def import_annotated_workbook(
    uid: str, caller: Caller, language: Language, store: ImportStore, annotator: WorkbookAnnotator
) -> Response:
    row = None if caller.id is None else await store.get_for_user(caller.id, uid)
    if row is None or caller.id is None:
        raise import_not_found(uid)
    comments = issue_comments(localize_messages(language, msgspec.json.decode(row.messages)), language)
    if not comments:
        raise NotFound(NOTHING_TO_MARK)
    user_id = caller.id

    async def load_file() -> bytes:
        data = await store.get_file_for_user(user_id, uid)
        if data is None:  # deleted meanwhile
            raise import_not_found(uid)
        return data

    data = await annotator.annotate(user_id, load_file, comments)
    headers: list[Header] = [
        (b"content-type", MEDIA_TYPES[XLSX_SUFFIX].encode()),
        attachment(strip_extension(row.filename) + MARKED, XLSX_SUFFIX, fallback=uid),
        (b"content-length", str(len(data)).encode()),
        API_CSP,
        PRIVATE_NO_CACHE,
    ]
    # A stream is not compressed. Workbooks are compressed already.
    return Response(200, headers, stream=_chunks(data))


async def _chunks(data: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), _CHUNK_BYTES):
        yield data[start : start + _CHUNK_BYTES]


OPERATIONS = (import_annotated_workbook,)
