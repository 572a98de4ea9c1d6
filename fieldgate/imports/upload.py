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
from fieldgate.i18n.messages import Message
from fieldgate.imports.schemas import ImportRequest

TYPES = ("survey", "template", "block", "question")
LONGEST_NAME = 255
LONGEST_KEY = 255
LOOKED_AT = 64 * 1024  # bytes that tell what a file is
SEPARATORS = (",", ";", "\t")
OTHER_KINDS = ("<", "{", "[", "%PDF", "GIF8", "Rar!", "7z¼¯")  # web pages, JSON and others that can pass for text

_NOT_IN_TEXT = bytes(set(range(32)) - set(b"\t\n\r"))
_UID = re.compile(r"a[2-9A-HJ-NP-Za-km-z]{21}")
_EXTENSION = re.compile(r"\.(xlsx|xlsm|xls|csv|ods)$", re.IGNORECASE)


class Wanted(msgspec.Struct, frozen=True):
    """A file and what shall become of it."""

    data: bytes
    filename: str
    name: str
    is_library: bool
    desired_type: str
    destination_uid: str | None
    digest: bytes


class KeyUsedOtherwise(Problem):
    status = 422
    detail = Message("This Idempotency-Key was used with other content. Send another key for another import.")


class Plan(msgspec.Struct, frozen=True):
    """What shall become of a file, wherever it comes from."""

    name: str
    is_library: bool
    desired_type: str
    destination_uid: str | None


def planned(request: ImportRequest) -> Plan:
    """Read everything of a request but the file, or say which field is wrong and why."""
    given = [name for name in ("file", "base64Encoded", "url") if getattr(request, name)]
    if not given:
        raise ValidationError({"file": [Message("Send a workbook, as file or as base64Encoded.")]})
    if len(given) > 1:
        raise ValidationError({name: [Message("Send only one of file, base64Encoded and url.")] for name in given})
    name = strip_control_characters(request.name)
    if len(name) > LONGEST_NAME:
        raise ValidationError({"name": [Message("Enter text of at most {length} characters.", length=LONGEST_NAME)]})
    if request.desired_type and request.desired_type not in TYPES:
        raise ValidationError({"desired_type": [Message("Choose one of: {choices}.", choices=", ".join(TYPES))]})
    destination = destination_uid(destination_field(request), request.destination.strip() or request.assetUid.strip())
    is_library = request.library == 1 or str(request.library).strip().lower() in {"true", "1", "yes"}
    return Plan(name, is_library, request.desired_type, destination)


def wanted(request: ImportRequest, limit: int, fetched: UploadedFile | None = None) -> Wanted:
    """Read a request, or say which field is wrong and why. `fetched` is the file at its `url`."""
    plan = planned(request)
    data, filename = _source(request, limit, fetched)
    name = plan.name or filename
    digest = url_digest(request.url, plan) if fetched else _digest(data, msgspec.structs.replace(plan, name=name))
    return Wanted(
        data, filename or name, bare_name(name), plan.is_library, plan.desired_type, plan.destination_uid, digest
    )


def url_digest(url: str, plan: Plan) -> bytes:
    """What makes a repeated POST the same: the address, not the file, which may be another or gone by then."""
    return _digest(b"url " + url.encode("utf-8", "surrogatepass"), plan)


def _digest(content: bytes, plan: Plan) -> bytes:
    meaning = repr(msgspec.structs.astuple(plan)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(hashlib.sha256(content).digest() + meaning).digest()


def bare_name(name: str) -> str:
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


def _source(request: ImportRequest, limit: int, fetched: UploadedFile | None) -> tuple[bytes, str]:
    if fetched is not None:
        data, filename, field = fetched.data, strip_control_characters(fetched.name)[-LONGEST_NAME:], "url"
    elif request.file is not None:
        data, filename, field = request.file.data, strip_control_characters(request.file.name)[-LONGEST_NAME:], "file"
    else:
        data, filename, field = _decoded(request.base64Encoded), "", "base64Encoded"
    if len(data) > limit:
        raise file_too_large(limit)
    if not looks_like_workbook(data):
        raise ValidationError({field: [Message("This is no workbook. Send an xlsx, xls, xlsm, ods or csv file.")]})
    return data, filename


def looks_like_workbook(data: bytes) -> bool:
    """By the first bytes: a zip archive (xlsx, xlsm, ods), an OLE2 file (xls), or text in columns (csv)."""
    start = data[:LOOKED_AT]
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return True
    encoding = "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=len(data) <= LOOKED_AT)
    except UnicodeDecodeError:
        # Perhaps Windows text, which is what Excel's plain CSV is.
        if encoding == "utf-16" or start.translate(None, _NOT_IN_TEXT) != start:
            return False
        text = start.decode("cp1252", errors="replace")
    return "\0" not in text and not text.lstrip().startswith(OTHER_KINDS) and _has_columns(text)


def _has_columns(text: str) -> bool:
    """Whether the first line is divided; or the second begins with a separator, below the name of a sheet."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    if not lines or not lines[0].endswith(("\n", "\r")):  # nothing, or no more than a line that does not end
        return False
    is_divided = any(mark in lines[0] for mark in SEPARATORS)
    return is_divided or (len(lines) > 1 and lines[1].removeprefix('""').startswith(SEPARATORS))


def _decoded(text: str) -> bytes:
    """Base64, bare or behind `data:…;base64,`."""
    _, marker, rest = text.partition("base64")
    encoded = "".join((rest[1:] if marker else text).split())
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValidationError({"base64Encoded": [Message("This is not base64. Encode the file again.")]}) from None
