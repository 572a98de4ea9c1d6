"""`import`: forms from files and folders, with their problems as a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.cli.output import show_progress
from fieldgate_client.cli.session import (
    SHORT_RETRIES,
    Command,
    Session,
    add_retries_option,
    add_server_options,
)
from fieldgate_client.client import Client
from fieldgate_client.errors import InvalidRequest
from fieldgate_client.forms import ImportFailed, ImportResult, format_problems

FORM_ENDINGS = frozenset({".xlsx", ".xls", ".xlsm", ".ods", ".csv"})


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_form_options(parser)
    add_retries_option(parser, SHORT_RETRIES)
    add_server_options(parser)


def add_form_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a form, or a folder with forms")
    parser.add_argument(
        "--into", metavar="UID", help="make it a new version of this form: uid or URL"
    )
    parser.add_argument("--name", help="name of a new form that has no form_title")
    parser.add_argument(
        "--library", action="store_true", help="import blocks and questions into the library"
    )
    parser.add_argument(
        "--type", choices=["survey", "template", "block", "question"], help="what to create"
    )


def chosen_forms(session: Session) -> list[Path]:
    options = session.options
    files = find_forms(options.files)
    if (options.into or options.name) and len(files) != 1:
        raise UsageError("--into and --name need exactly one file.")
    return files


def import_forms(session: Session) -> int:
    files = chosen_forms(session)
    with session.open_client() as client:
        return worst_code([_import_file(session, client, file) for file in files])


def find_forms(names: list[str]) -> list[Path]:
    """The files, and the forms in the folders. Hidden files are left out, such as those of open documents."""
    found: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            forms = sorted(each for each in path.iterdir() if is_form(each))
            if not forms:
                raise UsageError(
                    f"There are no forms in {name}: {', '.join(sorted(FORM_ENDINGS))}."
                )
            found += forms
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"There is no file {name}.")
    return [*dict.fromkeys(found)]


def is_form(path: Path) -> bool:
    return (
        path.suffix.lower() in FORM_ENDINGS
        and not path.name.startswith((".", "~$"))
        and path.is_file()
    )


def worst_code(codes: Iterable[ExitCode]) -> ExitCode:
    """Failures count more than problems of forms."""
    order = [ExitCode.OK, ExitCode.PROBLEMS, ExitCode.FAILED]
    return max(codes, key=order.index)


def _import_file(session: Session, client: Client, file: Path) -> ExitCode:
    """Import a file and print the result. A refused file does not stop the others."""
    options, output = session.options, session.output
    try:
        with show_progress(output, "bytes sent") as progress:
            result = client.import_form(
                file,
                options.into,
                name=options.name or "",
                library=options.library,
                desired_type=options.type or "",
                on_progress=progress.update,
            )
    except ImportFailed as error:
        _print_failure(session, file, error)
        return ExitCode.PROBLEMS
    except InvalidRequest as error:
        output.error(f"{file}: {error}")
        return ExitCode.FAILED
    _print_result(session, file, result)
    return ExitCode.OK


def _print_result(session: Session, file: Path, result: ImportResult) -> None:
    output = session.output
    for asset in result.assets:
        output.print(
            f"{file}: imported as {asset.name or 'a form without a name'} ({asset.asset_type} {asset.uid})"
        )
        if asset.url:
            output.print(asset.url)
    if not result.assets:
        output.print(f"{file}: imported")
    if result.warnings:
        output.print(format_problems(result.warnings, output.width, "warning"))


def _print_failure(session: Session, file: Path, error: ImportFailed) -> None:
    output, count = session.output, len(error.problems)
    reason = f"{count} problem{'' if count == 1 else 's'}" if count else error.message
    output.print(f"{file}: not imported: {reason}")
    if count:
        output.print(format_problems(error.problems, output.width))
    if error.record.url:
        output.print(f"See {error.record.url}")


IMPORT = Command(
    summary="import forms, and show their problems",
    description="""\
Import XLSForms from files and folders. Every problem is shown with its sheet, row and
column.""",
    examples="""\
examples:
  %(prog)s household.xlsx
  %(prog)s household.xlsx --into aBcDeFgHiJkLmNoPqRsTuV
  %(prog)s forms/ --server field
""",
    add_arguments=_add_arguments,
    run=import_forms,
)
