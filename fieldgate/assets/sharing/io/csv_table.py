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
    MOST_ITEMS,
    Named,
    is_unsaid,
    read_partials,
    read_permission,
    read_user,
    too_many,
)
from fieldgate.assets.sharing.model.grants import Shown
from fieldgate.assets.sharing.model.planning import Mistakes
from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.body_parsing import decode_json
from fieldgate.http.response.csv_safe import encode_csv, unescape_formula
from fieldgate.i18n.messages import Message
from fieldgate.permissions.rules import PARTIAL

COLUMNS = ("user", "permission", "filters")
SEPARATORS = (",", ";", "\t")
LARGEST = 2 * 1024 * 1024  # bytes

# A cell can be as large as the table. There is one limit for all readers of a process, and no other way to raise it;
# our others read files of our own, or of who runs the service.
csv.field_size_limit(LARGEST)


def write_table(every: Iterable[Shown]) -> bytes:
    """What is shown, each permission of a user once."""
    lines: dict[tuple[str, str], str] = {}
    for shown in every:
        filters = "" if shown.filters is None else _unsplit(msgspec.json.encode(shown.filters).decode())
        lines.setdefault((shown.user.username, shown.permission), filters)
    return encode_csv([COLUMNS]) + b"".join(_line(*key, filters) for key, filters in lines.items())


# Some spreadsheets split at semicolons or tabs, whatever is between commas: what comes after one could be a formula.


def _unsplit(filters: str) -> str:
    """In JSON, semicolons stand in texts only, and tabs are escaped as it is."""
    return filters.replace(";", r"\u003b")


def _line(user: str, permission: str, filters: str) -> bytes:
    """A line of the table; what is in quotes at its beginning is split nowhere."""
    line = encode_csv([(user, permission, filters)])
    if line.startswith(b'"') or not any(separator in user for separator in SEPARATORS):
        return line
    written, _, rest = line.partition(b",")  # without quotes there is no comma in it
    return b'"%s",%s' % (written, rest)


def read_table(data: bytes, field: str, mistakes: Mistakes, *, with_filters: bool = True) -> list[Named]:
    """What a table wants; every line that cannot be taken is named, with its column. `field` is where it was sent."""
    lines = _lines(data, field)
    header = [cell.strip().lower() for cell in next(lines, (0, []))[1]]
    if "user" not in header or "permission" not in header:
        said = Message("The first line must name the columns: {columns}.", columns=", ".join(COLUMNS))
        raise ValidationError({field: [said]})
    found = []
    for place, (number, cells) in enumerate(lines):
        if place >= MOST_ITEMS:
            raise ValidationError({field: [too_many(MOST_ITEMS)]})
        by_column = dict(zip(header, map(unescape_formula, cells), strict=False))
        if not any(cell.strip() for cell in cells):
            continue
        if named := _named(by_column, f"line {number}.", mistakes, with_filters):
            found.append(named)
    return found


def _lines(data: bytes, field: str) -> Iterator[tuple[int, Sequence[str]]]:
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


def _named(cells: dict[str, str], where: str, mistakes: Mistakes, with_filters: bool) -> Named | None:
    user = read_user(cells.get("user", ""), where + "user", mistakes)
    permission = read_permission(cells.get("permission", ""), where + "permission", mistakes)
    column = where + "filters"
    filters = None
    if with_filters and (permission == PARTIAL or cells.get("filters", "").strip()):
        partials = _partials(cells.get("filters", ""), column, mistakes)
        filters = None if partials is None else read_partials([permission], partials, column, mistakes)
        if partials is None or is_unsaid(permission, filters):
            permission = None
    return None if user is None else Named(user, permission, filters, where)


def _partials(cell: str, column: str, mistakes: Mistakes) -> list[dict[str, object]] | None:
    """The cell of filters, an object by permission, as a body has them."""
    try:
        by_permission = decode_json(cell) if cell.strip() else {}
    except BadRequest:
        by_permission = None
    if not isinstance(by_permission, dict):
        mistakes.note(column, Message("Enter a JSON object: for each permission, a list of queries."))
        return None
    return [{"url": codename, "filters": given} for codename, given in by_permission.items()]
