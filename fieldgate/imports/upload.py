"""Parse and validate the request that creates an import. The content of the workbook is checked later, by a worker."""

import base64
import binascii
import codecs
import hashlib
import re
from urllib.parse import unquote, urlsplit

import msgspec

from fieldgate.assets.store import strip_control_characters
from fieldgate.db import is_asset_uid
from fieldgate.errors import Problem, ValidationError
from fieldgate.http.request.body_parsing import UploadedFile, file_too_large
from fieldgate.i18n.messages import Message
from fieldgate.imports.file_text import UTF_8, has_control_bytes, unicode_encoding
from fieldgate.imports.schemas import ImportRequest

DESIRED_TYPES = ("survey", "template", "block", "question")
ASK = "ask"
IF_EXISTS = ("create", ASK)
MAX_NAME_CHARS = 255
MAX_IDEMPOTENCY_KEY_CHARS = 255
SNIFF_BYTES = 64 * 1024  # read to detect the type of a file
CSV_DELIMITERS = (",", ";", "\t")
# HTML, JSON and other files that could be mistaken for CSV.
NON_CSV_PREFIXES = ("<", "{", "[", "%PDF", "GIF8", "Rar!", "7z¼¯")

_EXTENSION = re.compile(r"\.(xlsx|xlsm|xls|csv|ods)$", re.IGNORECASE)


class IdempotencyKeyReused(Problem):
    status = 422
    detail = Message(
        "This Idempotency-Key was used with other content. Send another key for another import."
    )


class ImportOptions(msgspec.Struct, frozen=True):
    """The fields of a request that do not depend on where the file comes from."""

    name: str
    is_library: bool
    desired_type: str
    destination_uid: str | None
    asks_if_exists: bool


class NewImport(ImportOptions, frozen=True, kw_only=True):
    """A file to import, with its options."""

    file: UploadedFile
    filename: str
    digest: bytes

    @property
    def data(self) -> bytes:
        """The content of the file. Blocks while it is read from disk."""
        return self.file.data


def parse_options(request: ImportRequest) -> ImportOptions:
    """Parse everything but the file. Raise ValidationError for invalid fields."""
    sources = [name for name in ("file", "base64Encoded", "url") if getattr(request, name)]
    if not sources:
        raise ValidationError({"file": [Message("Send a workbook, as file or as base64Encoded.")]})
    if len(sources) > 1:
        raise ValidationError(
            {name: [Message("Send only one of file, base64Encoded and url.")] for name in sources}
        )
    if request.desired_type and request.desired_type not in DESIRED_TYPES:
        raise ValidationError(
            {
                "desired_type": [
                    Message("Choose one of: {choices}.", choices=", ".join(DESIRED_TYPES))
                ]
            }
        )
    if request.if_exists and request.if_exists not in IF_EXISTS:
        raise ValidationError(
            {"if_exists": [Message("Choose one of: {choices}.", choices=", ".join(IF_EXISTS))]}
        )
    destination = destination_uid(
        destination_field(request), request.destination.strip() or request.assetUid.strip()
    )
    is_library = request.library == 1 or str(request.library).strip().lower() in {
        "true",
        "1",
        "yes",
    }
    return ImportOptions(
        strip_control_characters(request.name),
        is_library,
        request.desired_type,
        destination,
        request.if_exists == ASK,
    )


def parse_upload(
    request: ImportRequest, max_bytes: int, fetched_file: UploadedFile | None = None
) -> NewImport:
    """Parse a request. `fetched_file` is the file at its `url`. Raise ValidationError for invalid fields."""
    options = parse_options(request)
    file, filename = _read_source(request, max_bytes, fetched_file)
    name = options.name or filename
    if fetched_file:
        digest = url_digest(request.url, options)
    else:
        digest = _digest(file.sha256(), msgspec.structs.replace(options, name=name))
    used = {**msgspec.structs.asdict(options), "name": strip_extension(name)}
    return NewImport(**used, file=file, filename=filename or name, digest=digest)


def url_digest(url: str, options: ImportOptions) -> bytes:
    """Return the digest that a repeated POST must match. It covers the address, not the file, which may change."""
    return _digest(hashlib.sha256(b"url " + url.encode("utf-8", "surrogatepass")).digest(), options)


def _digest(content_digest: bytes, options: ImportOptions) -> bytes:
    encoded_options = repr(msgspec.structs.astuple(options)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content_digest + encoded_options).digest()


def strip_extension(name: str) -> str:
    """Remove the extension of a workbook. Other dots stay, as in "Household 2.0 survey"."""
    return _EXTENSION.sub("", name).strip()


def destination_field(request: ImportRequest) -> str:
    """Return the field of the request that has the destination."""
    return "destination" if request.destination.strip() else "assetUid"


def destination_uid(field: str, text: str) -> str | None:
    """Return the uid of an asset, given as a URL of any host, a path or a uid."""
    if not text:
        return None
    try:
        path = unquote(urlsplit(text).path)
    except ValueError:
        path = ""
    segments = [segment for segment in path.split("/") if segment]
    uid = segments[-1].removesuffix(".json") if segments else ""
    if not is_asset_uid(uid) or (len(segments) > 1 and segments[-2] != "assets"):
        raise ValidationError({field: [Message("Enter the address or the uid of an asset.")]})
    return uid


def _read_source(
    request: ImportRequest, max_bytes: int, fetched_file: UploadedFile | None
) -> tuple[UploadedFile, str]:
    field = "url" if fetched_file else "file" if request.file else "base64Encoded"
    file = fetched_file or request.file or UploadedFile("", _decode_base64(request.base64Encoded))
    filename = strip_control_characters(file.name)[-MAX_NAME_CHARS:]
    if file.size > max_bytes:
        raise file_too_large(max_bytes)
    check_is_workbook(file.read_start(SNIFF_BYTES + 1), field)
    return file, filename


def check_is_workbook(data: bytes, field: str) -> None:
    """Raise ValidationError for this field if a file does not begin like a workbook."""
    if not looks_like_workbook(data):
        raise ValidationError(
            {
                field: [
                    Message(
                        "This file is not a workbook. Send an xlsx, xls, xlsm, ods or csv file."
                    )
                ]
            }
        )


def looks_like_workbook(data: bytes) -> bool:
    """Detect a zip archive (xlsx, xlsm, ods), an OLE2 file (xls) or text in columns (csv) by the first bytes."""
    start = data[:SNIFF_BYTES]
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return True
    encoding = unicode_encoding(start)
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(
            start, final=len(data) <= SNIFF_BYTES
        )
    except UnicodeDecodeError:
        # Plain CSV from Excel is in a Windows code page.
        if encoding != UTF_8 or has_control_bytes(start):
            return False
        text = start.decode("cp1252", errors="replace")
    return (
        "\0" not in text and not text.lstrip().startswith(NON_CSV_PREFIXES) and _has_columns(text)
    )


def _has_columns(text: str) -> bool:
    """Whether the first line has a delimiter, or the second begins with one, below the name of a sheet."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    if not lines or not lines[0].endswith(("\n", "\r")):  # empty, or one line without an end
        return False
    has_delimiter = any(delimiter in lines[0] for delimiter in CSV_DELIMITERS)
    return has_delimiter or (
        len(lines) > 1 and lines[1].removeprefix('""').startswith(CSV_DELIMITERS)
    )


def _decode_base64(text: str) -> bytes:
    """Decode base64, with or without a prefix such as `data:…;base64,`."""
    _, marker, rest = text.partition("base64")
    encoded = "".join((rest[1:] if marker else text).split())
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValidationError(
            {"base64Encoded": [Message("This is not base64. Encode the file again.")]}
        ) from None
