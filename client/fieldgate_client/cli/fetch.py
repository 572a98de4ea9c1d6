"""`fetch`: a complete list into a file, or to standard output."""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.cli.output import Progress, TerminalFile, show_progress
from fieldgate_client.cli.session import (
    LONG_RETRIES,
    Command,
    Session,
    add_retries_option,
    add_server_options,
    day,
    whole_number,
)
from fieldgate_client.client import Client, RecordList
from fieldgate_client.errors import NotAuthenticated
from fieldgate_client.exports.output_file import OutputFile
from fieldgate_client.server_url import parse_list_url

FORMATS = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".csv": "csv",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
    ".geojson": "geojson",
}
STREAMED_FORMATS = ("ndjson", "csv")  # can be written to standard output, and compressed
TABLE_FORMATS = ("csv", "xlsx", "parquet")
GZIP = ".gz"
# Parameters that this command sets itself.
_PAGE_PARAMETERS = frozenset({"limit", "offset", "start", "page", "page_size", "format"})
_EVENT_LISTS = frozenset({"event", "api/v2/event"})
# What belongs to the caller. Without a login, the server answers with an empty list.
_OWN_LISTS = frozenset({"assets", "api/v2/assets", "imports", "api/v2/imports"})
# Filters of the server with two underscores cannot be confused with options.
_FILTER = re.compile(r"--(?=[A-Za-z][A-Za-z0-9_]*?__[A-Za-z0-9_])([A-Za-z0-9_]+)(=.*)?", re.DOTALL)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", help="URL of a list, also with filters, or a path such as event/"
    )
    parser.add_argument(
        "--out",
        "-o",
        metavar="FILE",
        required=True,
        help="file that ends with .ndjson, .jsonl, .csv, .ndjson.gz, .csv.gz, .xlsx, .parquet or .geojson; "
        "- is standard output",
    )
    parser.add_argument(
        "--format", choices=sorted(set(FORMATS.values())), help="instead of the ending of the file"
    )
    parser.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="NAMES",
        help="only these columns, in this order, such as id,name,countries; for csv, xlsx and parquet",
    )
    parser.add_argument(
        "--bom", action="store_true", help="begin a CSV file with a byte order mark, for Excel"
    )
    _add_filters(parser)
    speed = parser.add_argument_group("requests")
    speed.add_argument(
        "--page-size",
        type=whole_number(1, 100_000),
        metavar="N",
        help="records per request, default 1000",
    )
    speed.add_argument(
        "--concurrency",
        type=whole_number(1, 32),
        metavar="N",
        help="requests at the same time, default 4",
    )
    add_retries_option(speed, LONG_RETRIES)
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress and no summary")
    add_server_options(parser)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "filters", "An option can be repeated, or have several values with commas."
    )
    group.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any filter of the server, such as search=cholera; --regions__in 0,2 works, too",
    )
    for option, text in (
        ("--country", "events: name or code, such as KEN"),
        ("--region", "events: such as Africa"),
        ("--type", "events: disaster type, such as Flood"),
        ("--severity", "events: yellow, orange or red"),
    ):
        group.add_argument(option, action="append", default=[], metavar="NAME", help=text)
    group.add_argument(
        "--start-date-from", type=day, metavar="DATE", help="events that began on this day or later"
    )
    group.add_argument(
        "--start-date-to", type=day, metavar="DATE", help="events that began on this day or earlier"
    )
    group.add_argument(
        "--since", metavar="TIME", help="events that changed since then, such as 2026-01-31"
    )
    group.add_argument("--search", metavar="WORDS", help="records with these words")
    group.add_argument(
        "--ordering", metavar="FIELD", help="order of the records; descending: --ordering=-FIELD"
    )


def fetch(session: Session) -> int:
    options = session.options
    file_format = choose_format(options)
    url, path, query = split_address(options.url)
    filters = collect_filters(session, path, query)
    with (
        show_progress(session.output, "records", is_quiet=options.quiet) as progress,
        session.open_client(url, progress.on_retry) as client,
    ):
        records = open_list(client, path, filters, options.since)
        check_login(client, path, records)
        summary = write_file(records, file_format, options, progress)
        is_public = not client.has_token and is_event_list(path)
    if not options.quiet:
        session.output.note(summary)
        if is_public:
            session.output.note("You are not logged in: only public events.")
    return ExitCode.OK


def choose_format(options: argparse.Namespace) -> str:
    name = options.out.lower().removesuffix(GZIP)
    chosen: str | None = options.format or (
        "ndjson" if options.out == "-" else FORMATS.get(Path(name).suffix)
    )
    if chosen is None:
        endings = ", ".join(FORMATS)
        raise UsageError(
            f"The ending of {options.out} is not known. Use one of {endings}, or --format."
        )
    if options.out == "-" and chosen not in STREAMED_FORMATS:
        raise UsageError(f"{chosen} cannot be written to standard output. Name a file with --out.")
    if is_gzip(options.out) and chosen not in STREAMED_FORMATS:
        raise UsageError(
            f"{chosen} cannot be written with the ending {GZIP}. Use .ndjson{GZIP} or .csv{GZIP}."
        )
    if options.bom and chosen != "csv":
        raise UsageError("--bom is for CSV files.")
    if options.columns and chosen not in TABLE_FORMATS:
        raise UsageError(f"--columns is for csv, xlsx and parquet, not for {chosen}.")
    if options.columns and not chosen_columns(options):
        raise UsageError("--columns needs names, such as --columns id,name.")
    return chosen


def chosen_columns(options: argparse.Namespace) -> list[str] | None:
    """The names of --columns; None without it."""
    if not options.columns:
        return None
    return [name for text in options.columns for part in text.split(",") if (name := part.strip())]


def split_address(text: str) -> tuple[str, str, list[tuple[str, str]]]:
    """The whole URL if there is one, the path on the server, and the query."""
    if "://" in text:
        address = parse_list_url(text)
        return text, address.path, [*address.query]
    parts = urlsplit(text)
    first = parts.path.partition("/")[0]
    if parts.scheme or "." in first or ":" in first:
        raise UsageError(f"Write the URL with https://, such as https://{text}")
    if not parts.path.strip("/"):
        raise UsageError("Write the path of a list, such as event/.")
    return "", parts.path, parse_qsl(parts.query, keep_blank_values=True)


def collect_filters(session: Session, path: str, query: list[tuple[str, str]]) -> dict[str, Any]:
    """Filters of the URL and of options; options win."""
    options = session.options
    filters: dict[str, Any] = {}
    pairs = [*query]
    for text in options.filter:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"--filter {text}: write NAME=VALUE, such as regions__in=0,2.")
        pairs.append((name, value))
    for name, value in pairs:
        if name in _PAGE_PARAMETERS:
            session.output.note(
                f"{name}={value} is not used: all records are read, in the format of the file."
            )
        else:
            filters[name] = value
    names = {
        "countries": options.country,
        "regions": options.region,
        "types": options.type,
        "severity": options.severity,
    }
    given: dict[str, Any] = {name: texts for name, texts in names.items() if texts}
    if options.start_date_from:
        given["disaster_start_date__gte"] = f"{options.start_date_from}T00:00:00Z"
    if options.start_date_to:
        given["disaster_start_date__lte"] = f"{options.start_date_to}T23:59:59.999999Z"
    if (given or options.since) and not is_event_list(path):
        raise UsageError(
            "--country, --region, --type, --severity, --start-date-from, --start-date-to and --since are for event/."
        )
    if options.search is not None:
        given["search"] = options.search
    if options.ordering is not None:
        given["ordering"] = options.ordering
    return {**filters, **given}


def is_event_list(path: str) -> bool:
    return path.strip("/") in _EVENT_LISTS


def open_list(
    client: Client, path: str, filters: dict[str, Any], since: str | None
) -> RecordList[Any]:
    if not is_event_list(path):
        return client.list(path, **filters)
    try:
        return client.events(**{**filters, **({"since": since} if since else {})})
    except ValueError as error:  # a time that cannot be read
        raise UsageError(str(error)) from None


def check_login(client: Client, path: str, records: RecordList[Any]) -> None:
    """Refuse to write an empty list that only has records for those who are logged in."""
    if not client.has_token and path.strip("/") in _OWN_LISTS and not list(records[:1]):
        raise NotAuthenticated(
            "This list is empty without a login.", url=f"{client.server}/{path.lstrip('/')}"
        )


def write_file(
    records: RecordList[Any], file_format: str, options: argparse.Namespace, progress: Progress
) -> str:
    table: dict[str, Any] = (
        {"columns": chosen_columns(options)} if file_format in TABLE_FORMATS else {}
    )
    if file_format == "csv":
        table["bom"] = options.bom
    write = getattr(records, f"to_{file_format}")
    with open_target(options.out) as target:
        count = write(target, on_progress=progress.update, **table)
    where = "" if options.out == "-" else f" written to {options.out}"
    return f"{count} record{'' if count == 1 else 's'}{where}"


def is_gzip(out: str) -> bool:
    return out.lower().endswith(GZIP)


@contextmanager
def open_target(out: str) -> Iterator[Any]:
    """What the list is written to: the name of the file, standard output, or a compressed file."""
    if out == "-":
        yield TerminalFile(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer
    elif is_gzip(out):
        with OutputFile(out) as output:
            with gzip.GzipFile("", "wb", fileobj=output.file) as compressed:
                yield compressed
            output.commit()
    else:
        yield out


def expand_filters(arguments: Sequence[str]) -> list[str]:
    """The arguments of `fetch`, with `--regions__in 0,2` written as `--filter regions__in=0,2`."""
    if not arguments or arguments[0] != "fetch":
        return [*arguments]
    expanded: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        found = _FILTER.fullmatch(argument)
        if found is None:
            expanded.append(argument)
        elif found[2] is not None:
            expanded.append(f"--filter={found[1]}{found[2]}")
        else:
            value = next(rest, None)
            expanded.append(argument if value is None else f"--filter={found[1]}={value}")
    return expanded


FETCH = Command(
    summary="read a complete list into a file",
    description="""\
Read all records of a list. The file is complete, or it is not written: a list that
changes while it is read is read again, or exit code 5 says that it is incomplete.""",
    examples="""\
examples:
  %(prog)s https://field.example/api/v2/event/ --type Flood --region Africa --out floods.csv
  %(prog)s event/ --columns name,countries.name,disaster_start_date --out events.xlsx
  %(prog)s 'https://goadmin.ifrc.org/api/v2/event/?dtype=12' --out floods.xlsx
  %(prog)s event/ --server field --country KEN --country Chad --out - | head
  %(prog)s assets/ --filter q=visit --out forms.ndjson
""",
    add_arguments=_add_arguments,
    run=fetch,
)
