"""The assignments of an asset as a CSV table, out and in. The owner's are not in it: they are not assigned.

user,permission,filters
amina,view_asset,
amina,partial_submissions,"{""view_submissions"":[{""_submitted_by"":""amina""}]}"
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fieldgate.assets.sharing.io.request_parsing import (
    MAX_ITEMS,
    UnresolvedGrant,
    lacks_filters,
    parse_partial_permissions,
    parse_permission,
    parse_user,
    too_many_message,
)
from fieldgate.assets.sharing.model.grants import ListedAssignment
from fieldgate.assets.sharing.model.planning import ErrorCollector
from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.body_parsing import decode_json
from fieldgate.http.response.csv_safe import encode_csv, unescape_formula
from fieldgate.i18n.messages import Message
from fieldgate.permissions.catalogue import PARTIAL

COLUMNS = ("user", "permission", "filters")
SEPARATORS = (",", ";", "\t")
MAX_TABLE_BYTES = 2 * 1024 * 1024  # bytes

# A cell can be as large as the table. There is one limit for all readers of a process, and no other way to raise it;
# our others read files of our own, or of who runs the service.
csv.field_size_limit(MAX_TABLE_BYTES)


def write_table(assignments: Iterable[ListedAssignment]) -> bytes:
    """What is shown, each permission of a user once."""
    lines: dict[tuple[str, str], str] = {}
    for shown in assignments:
        filters = "" if shown.filters is None else _escape_separators(msgspec.json.encode(shown.filters).decode())
        lines.setdefault((shown.user.username, shown.permission), filters)
    return encode_csv([COLUMNS]) + b"".join(_encode_line(*key, filters) for key, filters in lines.items())


# Some spreadsheets split at semicolons or tabs, whatever is between commas: what comes after one could be a formula.


def _escape_separators(filters: str) -> str:
    """In JSON, semicolons stand in texts only, and tabs are escaped as it is."""
    return filters.replace(";", r"\u003b")


def _encode_line(user: str, permission: str, filters: str) -> bytes:
    """A line of the table; what is in quotes at its beginning is split nowhere."""
    line = encode_csv([(user, permission, filters)])
    if line.startswith(b'"') or not any(separator in user for separator in SEPARATORS):
        return line
    written, _, rest = line.partition(b",")  # without quotes there is no comma in it
    return b'"%s",%s' % (written, rest)


def parse_table(data: bytes, field: str, errors: ErrorCollector, *, with_filters: bool = True) -> list[UnresolvedGrant]:
    """What a table wants; every line that cannot be taken is named, with its column. `field` is where it was sent."""
    lines = _parse_lines(data, field)
    header = [cell.strip().lower() for cell in next(lines, (0, []))[1]]
    if "user" not in header or "permission" not in header:
        said = Message("The first line must name the columns: {columns}.", columns=", ".join(COLUMNS))
        raise ValidationError({field: [said]})
    found = []
    for place, (number, cells) in enumerate(lines):
        if place >= MAX_ITEMS:
            raise ValidationError({field: [too_many_message(MAX_ITEMS)]})
        by_column = dict(zip(header, map(unescape_formula, cells), strict=False))
        if not any(cell.strip() for cell in cells):
            continue
        if named := _parse_row(by_column, f"line {number}.", errors, with_filters):
            found.append(named)
    return found


def _parse_lines(data: bytes, field: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The lines with their numbers, as an editor counts them."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValidationError({field: [Message("The table must be UTF-8 text.")]}) from None
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key=first.count))
    before = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            said = Message("Line {number} cannot be read as CSV.", number=before + 1)
            raise ValidationError({field: [said]}) from None
        if cells is None:
            return
        yield before + 1, cells
        before = reader.line_num


def _parse_row(
    cells: dict[str, str], field_prefix: str, errors: ErrorCollector, with_filters: bool
) -> UnresolvedGrant | None:
    user = parse_user(cells.get("user", ""), field_prefix + "user", errors)
    permission = parse_permission(cells.get("permission", ""), field_prefix + "permission", errors)
    column = field_prefix + "filters"
    filters = None
    if with_filters and (permission == PARTIAL or cells.get("filters", "").strip()):
        partials = _parse_filters(cells.get("filters", ""), column, errors)
        filters = None if partials is None else parse_partial_permissions([permission], partials, column, errors)
        if partials is None or lacks_filters(permission, filters):
            permission = None
    return None if user is None else UnresolvedGrant(user, permission, filters, field_prefix)


def _parse_filters(cell: str, column: str, errors: ErrorCollector) -> list[dict[str, object]] | None:
    """The cell of filters, an object by permission, as a body has them."""
    try:
        by_permission = decode_json(cell) if cell.strip() else {}
    except BadRequest:
        by_permission = None
    if not isinstance(by_permission, dict):
        errors.add(column, Message("Enter a JSON object: for each permission, a list of queries."))
        return None
    return [{"url": codename, "filters": given} for codename, given in by_permission.items()]
