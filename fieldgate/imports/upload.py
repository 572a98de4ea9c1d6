"""What is wanted of an import, from what was sent. Wrong input that can be seen at once is refused at once."""

import base64
import binascii
import codecs
import hashlib
import re
from urllib.parse import unquote, urlsplit

import msgspec

from fieldgate.assets.names import strip_control_characters
from fieldgate.errors import Problem, ValidationError
from fieldgate.http.request.body_parsing import UploadedFile, file_too_large
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.schemas import ImportRequest

DESIRED_TYPES = ("survey", "template", "block", "question")
MAX_NAME_CHARS = 255
MAX_IDEMPOTENCY_KEY_CHARS = 255
SNIFF_BYTES = 64 * 1024  # bytes that tell what a file is
CSV_DELIMITERS = (",", ";", "\t")
NON_CSV_PREFIXES = ("<", "{", "[", "%PDF", "GIF8", "Rar!", "7z¼¯")  # web pages, JSON and others that can pass for text

_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r"))
_UID = re.compile(r"a[2-9A-HJ-NP-Za-km-z]{21}")
_EXTENSION = re.compile(r"\.(xlsx|xlsm|xls|csv|ods)$", re.IGNORECASE)


class NewImport(msgspec.Struct, frozen=True):
    """A file and what shall become of it."""

    data: bytes
    filename: str
    name: str
    is_library: bool
    desired_type: str
    destination_uid: str | None
    digest: bytes


class IdempotencyKeyReused(Problem):
    status = 422
    detail = Message("This Idempotency-Key was used with other content. Send another key for another import.")


class ImportOptions(msgspec.Struct, frozen=True):
    """What shall become of a file, wherever it comes from."""

    name: str
    is_library: bool
    desired_type: str
    destination_uid: str | None


def parse_options(request: ImportRequest) -> ImportOptions:
    """Read everything of a request but the file, or say which field is wrong and why."""
    given = [name for name in ("file", "base64Encoded", "url") if getattr(request, name)]
    if not given:
        raise ValidationError({"file": [Message("Send a workbook, as file or as base64Encoded.")]})
    if len(given) > 1:
        raise ValidationError({name: [Message("Send only one of file, base64Encoded and url.")] for name in given})
    name = strip_control_characters(request.name)
    if len(name) > MAX_NAME_CHARS:
        raise ValidationError(
            {
                "name": [
                    PluralMessage(
                        "Enter text of at most {count} character.",
                        "Enter text of at most {count} characters.",
                        MAX_NAME_CHARS,
                    )
                ]
            }
        )
    if request.desired_type and request.desired_type not in DESIRED_TYPES:
        raise ValidationError(
            {"desired_type": [Message("Choose one of: {choices}.", choices=", ".join(DESIRED_TYPES))]}
        )
    destination = destination_uid(destination_field(request), request.destination.strip() or request.assetUid.strip())
    is_library = request.library == 1 or str(request.library).strip().lower() in {"true", "1", "yes"}
    return ImportOptions(name, is_library, request.desired_type, destination)


def parse_upload(request: ImportRequest, max_bytes: int, fetched_file: UploadedFile | None = None) -> NewImport:
    """Read a request, or say which field is wrong and why. `fetched` is the file at its `url`."""
    plan = parse_options(request)
    data, filename = _read_source(request, max_bytes, fetched_file)
    name = plan.name or filename
    digest = url_digest(request.url, plan) if fetched_file else _digest(data, msgspec.structs.replace(plan, name=name))
    return NewImport(
        data, filename or name, strip_extension(name), plan.is_library, plan.desired_type, plan.destination_uid, digest
    )


def url_digest(url: str, options: ImportOptions) -> bytes:
    """What makes a repeated POST the same: the address, not the file, which may be another or gone by then."""
    return _digest(b"url " + url.encode("utf-8", "surrogatepass"), options)


def _digest(content: bytes, options: ImportOptions) -> bytes:
    meaning = repr(msgspec.structs.astuple(options)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(hashlib.sha256(content).digest() + meaning).digest()


def strip_extension(name: str) -> str:
    """A name without the extension of a workbook; other dots are part of it, as in "Household 2.0 survey"."""
    return _EXTENSION.sub("", name).strip()


def destination_field(request: ImportRequest) -> str:
    """The field that names the destination."""
    return "destination" if request.destination.strip() else "assetUid"


def destination_uid(field: str, text: str) -> str | None:
    """The uid of an asset in an address of any host, a path, or alone."""
    if not text:
        return None
    try:
        path = unquote(urlsplit(text).path)
    except ValueError:
        path = ""
    segments = [segment for segment in path.split("/") if segment]
    uid = segments[-1].removesuffix(".json") if segments else ""
    if not _UID.fullmatch(uid) or (len(segments) > 1 and segments[-2] != "assets"):
        raise ValidationError({field: [Message("Enter the address or the uid of an asset.")]})
    return uid


def _read_source(request: ImportRequest, max_bytes: int, fetched_file: UploadedFile | None) -> tuple[bytes, str]:
    if fetched_file is not None:
        data, filename, field = fetched_file.data, strip_control_characters(fetched_file.name)[-MAX_NAME_CHARS:], "url"
    elif request.file is not None:
        data, filename, field = request.file.data, strip_control_characters(request.file.name)[-MAX_NAME_CHARS:], "file"
    else:
        data, filename, field = _decode_base64(request.base64Encoded), "", "base64Encoded"
    if len(data) > max_bytes:
        raise file_too_large(max_bytes)
    if not looks_like_workbook(data):
        raise ValidationError({field: [Message("This is no workbook. Send an xlsx, xls, xlsm, ods or csv file.")]})
    return data, filename


def looks_like_workbook(data: bytes) -> bool:
    """By the first bytes: a zip archive (xlsx, xlsm, ods), an OLE2 file (xls), or text in columns (csv)."""
    start = data[:SNIFF_BYTES]
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return True
    encoding = "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=len(data) <= SNIFF_BYTES)
    except UnicodeDecodeError:
        # Perhaps Windows text, which is what Excel's plain CSV is.
        if encoding == "utf-16" or start.translate(None, _CONTROL_BYTES) != start:
            return False
        text = start.decode("cp1252", errors="replace")
    return "\0" not in text and not text.lstrip().startswith(NON_CSV_PREFIXES) and _has_columns(text)


def _has_columns(text: str) -> bool:
    """Whether the first line is divided; or the second begins with a separator, below the name of a sheet."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    if not lines or not lines[0].endswith(("\n", "\r")):  # nothing, or no more than a line that does not end
        return False
    is_divided = any(mark in lines[0] for mark in CSV_DELIMITERS)
    return is_divided or (len(lines) > 1 and lines[1].removeprefix('""').startswith(CSV_DELIMITERS))


def _decode_base64(text: str) -> bytes:
    """Base64, bare or behind `data:…;base64,`."""
    _, marker, rest = text.partition("base64")
    encoded = "".join((rest[1:] if marker else text).split())
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValidationError({"base64Encoded": [Message("This is not base64. Encode the file again.")]}) from None
