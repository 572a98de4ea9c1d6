"""`import`: forms from files, with their problems as a table; `--watch` imports them again when they are saved."""

from __future__ import annotations

import argparse
import hashlib
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.cli.output import show_progress
from fieldgate_client.cli.session import (
    FILES,
    SHORT_RETRIES,
    Command,
    Session,
    add_server_options,
    completes,
    whole_number,
)
from fieldgate_client.client import Client
from fieldgate_client.errors import FieldgateError, InvalidRequest
from fieldgate_client.forms import ImportFailed, ImportResult, format_problems

FORM_ENDINGS = frozenset({".xlsx", ".xls", ".xlsm", ".ods", ".csv"})
POLL_SECONDS = 0.5


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    completes(
        parser.add_argument("files", metavar="FILE", nargs="+", help="a form, or a folder with forms"),
        FILES,
    )
    parser.add_argument("--into", metavar="UID", help="make it a new version of this form: uid or URL")
    parser.add_argument("--name", help="name of a new form that has no form_title")
    parser.add_argument("--library", action="store_true", help="import blocks and questions into the library")
    parser.add_argument("--type", choices=["survey", "template", "block", "question"], help="what to create")
    parser.add_argument("--watch", action="store_true", help="import a file again each time it is saved")
    parser.add_argument(
        "--retries",
        type=whole_number(0, 50),
        default=SHORT_RETRIES,
        metavar="N",
        help=f"how often a failed request is repeated, default {SHORT_RETRIES}",
    )
    add_server_options(parser)


def import_forms(session: Session) -> int:
    options = session.options
    files = find_forms(options.files)
    if (options.into or options.name) and len(files) != 1:
        raise UsageError("--into and --name need exactly one file.")
    with session.open_client() as client:
        importer = FormImporter(session, client)
        if not options.watch:
            return worst_code(importer.import_file(file) for file in files)
        return watch(session, importer, files)


def find_forms(names: list[str]) -> list[Path]:
    """The files, and the forms in the folders. Hidden files are left out, such as those of open documents."""
    found: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            forms = sorted(each for each in path.iterdir() if is_form(each))
            if not forms:
                raise UsageError(f"There are no forms in {name}: {', '.join(sorted(FORM_ENDINGS))}.")
            found += forms
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"There is no file {name}.")
    return [*dict.fromkeys(found)]


def is_form(path: Path) -> bool:
    return path.suffix.lower() in FORM_ENDINGS and not path.name.startswith((".", "~$")) and path.is_file()


def worst_code(codes: Iterable[int]) -> int:
    """Failures count more than problems of forms."""
    order = [ExitCode.OK, ExitCode.PROBLEMS, ExitCode.FAILED]
    return max((ExitCode(code) for code in codes), key=order.index)


class FormImporter:
    """Imports files and prints the results. Remembers which form a file has become."""

    def __init__(self, session: Session, client: Client) -> None:
        self._output = session.output
        self._session = session
        self._client = client
        self._uids: dict[Path, str] = {}

    def import_file(self, file: Path) -> int:
        """Import a file, into the form that it has become before. A refused file does not stop the others."""
        options = self._session.options
        try:
            result = self._send(file)
        except ImportFailed as error:
            self._print_failure(file, error)
            return ExitCode.PROBLEMS
        except InvalidRequest as error:
            self._output.error(f"{file}: {error}")
            return ExitCode.FAILED
        self._print_result(file, result)
        if options.watch:
            if len(result.assets) != 1:
                raise FieldgateError(f"{file} is {len(result.assets)} assets. --watch is for files with one form.")
            self._uids[file] = result.assets[0].uid
        return ExitCode.OK

    def _send(self, file: Path) -> ImportResult:
        options = self._session.options
        with show_progress(self._output, "bytes sent") as progress:
            return self._client.import_form(
                file,
                self._uids.get(file) or options.into,
                name=options.name or "",
                library=options.library,
                desired_type=options.type or "",
                on_progress=progress.update,
            )

    def _print_result(self, file: Path, result: ImportResult) -> None:
        for asset in result.assets:
            self._output.print(
                f"{file}: imported as {asset.name or 'a form without a name'} ({asset.asset_type} {asset.uid})"
            )
            if asset.url:
                self._output.print(asset.url)
        if not result.assets:
            self._output.print(f"{file}: imported")
        if result.warnings:
            self._output.print(format_problems(result.warnings, self._output.width, "warning"))

    def _print_failure(self, file: Path, error: ImportFailed) -> None:
        count = _counted(len(error.problems), "problem") if error.problems else error.message
        self._output.print(f"{file}: not imported: {count}")
        if error.problems:
            self._output.print(format_problems(error.problems, self._output.width))
        if error.record.url:
            self._output.print(f"See {error.record.url}")


def watch(session: Session, importer: FormImporter, files: list[Path]) -> int:
    """Import at once, then on each save. Only errors of the first import end it."""
    watcher = FileWatcher(files)
    for file in files:
        importer.import_file(file)
    session.output.print(f"Watching {_counted(len(files), 'file')}. Save to import again, Ctrl-C to end.")
    try:
        for file in wait_for_changes(watcher):
            session.output.print(f"\n{time.strftime('%H:%M:%S')} {file.name} was saved.")
            try:
                importer.import_file(file)
            except FieldgateError as error:
                session.report_error(error)
            session.output.print("Waiting for the next save.")
    except KeyboardInterrupt:
        session.output.note("Ended.")
    return ExitCode.OK


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


class FileWatcher:
    """Notices when files are saved, by looking at their content.

    Spreadsheet programs write another file and rename it, so that a file can be missing or incomplete for a moment. A
    change counts when two looks in a row show the same.
    """

    def __init__(self, files: list[Path]) -> None:
        self._known = {file: _digest(file) for file in files}
        self._seen = dict(self._known)

    def poll(self) -> list[Path]:
        """The files that were saved, and have not changed since the poll before."""
        saved = []
        for file, before in self._seen.items():
            now = self._seen[file] = _digest(file)
            if now and now == before and now != self._known[file]:
                self._known[file] = now
                saved.append(file)
        return saved


def wait_for_changes(watcher: FileWatcher, interval: float = POLL_SECONDS) -> Iterator[Path]:
    never = threading.Event()
    while not never.wait(interval):
        yield from watcher.poll()


def _digest(file: Path) -> bytes:
    """Nothing for a file that is missing or empty."""
    try:
        content = file.read_bytes()
    except OSError:
        return b""
    return hashlib.sha256(content).digest() if content else b""


IMPORT = Command(
    summary="import forms, and show their problems",
    description="""\
Import XLSForms from files and folders. Every problem is shown with its sheet, row and
column. With --watch, a file is imported again each time it is saved, as a new version
of the same form, until Ctrl-C.""",
    examples="""\
examples:
  %(prog)s household.xlsx
  %(prog)s household.xlsx --into aBcDeFgHiJkLmNoPqRsTuV
  %(prog)s forms/ --server field
  %(prog)s household.xlsx --watch
""",
    add_arguments=_add_arguments,
    run=import_forms,
)
