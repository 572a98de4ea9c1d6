"""Write and parse the assignments of an asset as a CSV table, without the owner's.

user,permission,filters,expires_at
amina,view_asset,,
amina,partial_submissions,"{""view_submissions"":[{""_submitted_by"":""amina""}]}",2026-12-31T23:59:59Z

The last column is only there if something ends.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from fieldgate.accounts.store import username_key
from fieldgate.assets.sharing.grant_parsing import (
    MAX_ITEMS,
    ErrorCollector,
    lacks_filters,
    parse_end,
    parse_partial_permissions,
    parse_permission,
    parse_user,
    too_many_message,
)
from fieldgate.assets.sharing.grants import Grant, ListedAssignment
from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.body_parsing import decode_json
from fieldgate.http.response.csv_safe import encode_csv, unescape_formula
from fieldgate.i18n.messages import Message
from fieldgate.permissions.catalogue import PARTIAL

COLUMNS = ("user", "permission", "filters")
END_COLUMN = "expires_at"
SEPARATORS = (",", ";", "\t")
MAX_TABLE_BYTES = 2 * 1024 * 1024  # 2 MiB

# A cell can be as large as the table. The limit is global to the process; our other CSV readers only read files of
# the package or of the operator.
csv.field_size_limit(MAX_TABLE_BYTES)


def write_table(assignments: Sequence[ListedAssignment]) -> bytes:
    """Encode assignments as CSV, each permission of a user once. Teams of the same name have their uid instead."""
    names = Counter(
        username_key(team.username)
        for team in {each.user for each in assignments if each.user.is_team}
    )
    lines: dict[tuple[str, str], tuple[str, str]] = {}
    for each in assignments:
        filters = "" if each.filters is None else msgspec.json.encode(each.filters).decode()
        end = "" if each.expires_at is None else msgspec.to_builtins(each.expires_at)
        is_clear = each.user.team_name and names[username_key(each.user.username)] < 2
        name = each.user.username if is_clear else each.user.reference
        lines.setdefault((name, each.permission), (filters, end))
    if any(end for _, end in lines.values()):
        return encode_csv(
            [(*COLUMNS, END_COLUMN), *((*key, *cells) for key, cells in lines.items())]
        )
    return encode_csv([COLUMNS, *((*key, filters) for key, (filters, _) in lines.items())])


def parse_table(
    data: bytes, field: str, errors: ErrorCollector, *, with_filters: bool = True
) -> list[Grant]:
    """Parse a table. Errors name the line and the column. `field` is the field of the request that contains it."""
    lines = _parse_lines(data, field)
    header = [cell.strip().lower() for cell in next(lines, (0, []))[1]]
    if "user" not in header or "permission" not in header:
        message = Message(
            "The first line must name the columns: {columns}.", columns=", ".join(COLUMNS)
        )
        raise ValidationError({field: [message]})
    found = []
    for position, (line_number, cells) in enumerate(lines):
        if position >= MAX_ITEMS:
            raise ValidationError({field: [too_many_message(MAX_ITEMS)]})
        by_column = dict(zip(header, map(unescape_formula, cells), strict=False))
        if not any(cell.strip() for cell in cells):
            continue
        if parsed := _parse_row(by_column, f"line {line_number}.", errors, with_filters):
            found.append(parsed)
    return found


def _parse_lines(data: bytes, field: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the rows, each with the number of its first line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValidationError({field: [Message("The table must be UTF-8 text.")]}) from None
    header = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key=header.count))
    lines_read = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            message = Message("Line {number} cannot be read as CSV.", number=lines_read + 1)
            raise ValidationError({field: [message]}) from None
        if cells is None:
            return
        yield lines_read + 1, cells
        lines_read = reader.line_num


def _parse_row(
    cells: dict[str, str], field_prefix: str, errors: ErrorCollector, with_filters: bool
) -> Grant | None:
    user = parse_user(cells.get("user", ""), field_prefix + "user", errors)
    permission = parse_permission(cells.get("permission", ""), field_prefix + "permission", errors)
    column = field_prefix + "filters"
    filters, is_valid = None, permission is not None
    if with_filters and (permission == PARTIAL or cells.get("filters", "").strip()):
        partials = _parse_filters(cells.get("filters", ""), column, errors)
        filters = (
            None
            if partials is None
            else parse_partial_permissions([permission], partials, column, errors)
        )
        is_valid = is_valid and partials is not None and not lacks_filters(permission, filters)
    end = parse_end(
        cells.get(END_COLUMN, UNSET) if with_filters else UNSET, field_prefix + END_COLUMN, errors
    )
    return None if user is None else Grant(user, permission, filters, field_prefix, is_valid, end)


def _parse_filters(
    cell: str, column: str, errors: ErrorCollector
) -> list[dict[str, object]] | None:
    """Convert the cell, a JSON object by permission, to the list that a JSON body contains."""
    try:
        by_permission = decode_json(cell) if cell.strip() else {}
    except BadRequest:
        by_permission = None
    if not isinstance(by_permission, dict):
        errors.add(column, Message("Enter a JSON object: for each permission, a list of queries."))
        return None
    return [{"url": codename, "filters": given} for codename, given in by_permission.items()]
