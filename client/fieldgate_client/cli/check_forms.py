"""`check`: what a server would say to forms, as a table, JSON or SARIF, without importing them."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from fieldgate_client.cli.exit_codes import ExitCode
from fieldgate_client.cli.import_forms import add_form_options, chosen_forms, worst_code
from fieldgate_client.cli.output import TerminalFile
from fieldgate_client.cli.session import (
    LONG_RETRIES,
    Command,
    Session,
    add_retries_option,
    add_server_options,
)
from fieldgate_client.client import Client
from fieldgate_client.errors import FieldgateError, InvalidRequest
from fieldgate_client.forms import FormCheck
from fieldgate_client.records import Problem
from fieldgate_client.terminal_text import clean_line
from fieldgate_client.version import __version__

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LETTERS = re.compile("[A-Z]{1,3}")  # of a column
COLUMNS = ("file", "level", "sheet", "row", "column", "code", "message")


class Finding(msgspec.Struct, frozen=True):
    """A problem or warning of a file. `level` is error or warning, as in SARIF."""

    file: str
    level: str
    sheet: str | None
    row: int | None
    column: str | None
    column_number: int | None
    code: str
    message: str


class CheckedFile(msgspec.Struct, frozen=True):
    """`status` is complete, error, or refused if the server did not check the file."""

    file: str
    status: str
    findings: list[Finding]

    @property
    def exit_code(self) -> ExitCode:
        return {"complete": ExitCode.OK, "error": ExitCode.PROBLEMS}.get(
            self.status, ExitCode.FAILED
        )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_form_options(parser)
    parser.add_argument(
        "--format", choices=["table", "json", "sarif"], default="table", help="default: table"
    )
    add_retries_option(parser, LONG_RETRIES)
    add_server_options(parser)


def check_forms(session: Session) -> int:
    files = chosen_forms(session)
    checked = list[CheckedFile]()
    failure: FieldgateError | None = None
    with session.open_client() as client:
        try:
            for file in files:
                checked.append(_check_file(session, client, file))
        except FieldgateError as error:  # code hosts want a log of runs that failed, too
            failure = error
    if session.options.format == "table":
        if checked:
            _print_table(session, checked)
    else:
        document = (
            _sarif(checked, is_complete=failure is None)
            if session.options.format == "sarif"
            else checked
        )
        encoded = msgspec.json.format(msgspec.json.encode(document))
        TerminalFile(sys.stdout.buffer).write(
            session.output.hide_secrets(encoded.decode()).encode() + b"\n"
        )
    if failure is not None:
        raise failure
    return worst_code([each.exit_code for each in checked])


def _check_file(session: Session, client: Client, file: Path) -> CheckedFile:
    """Check a file. A refused one does not stop the others."""
    options, name = session.options, os.fsencode(file).decode(errors="replace")
    try:
        result = client.check_form(
            file,
            options.into,
            name=options.name or "",
            library=options.library,
            desired_type=options.type or "",
        )
    except InvalidRequest as error:
        if options.format != "table":  # which shows it
            session.output.error(f"{file}: {error}")
        refusal = Finding(name, "error", None, None, None, None, "refused", str(error))
        return CheckedFile(name, "refused", [refusal])
    return CheckedFile(name, result.status, [*_findings(name, result)])


def _findings(file: str, result: FormCheck) -> Iterator[Finding]:
    numbers = _column_numbers(result)
    for kind, level, problems in (
        ("problem", "error", result.problems),
        ("warning", "warning", result.warnings),
    ):
        for index, each in enumerate(problems):
            yield _finding(file, level, each, numbers.get((kind, index)))


def _finding(file: str, level: str, problem: Problem, column_number: int | None) -> Finding:
    return Finding(
        file,
        level,
        problem.sheet,
        problem.row,
        problem.column,
        column_number,
        problem.code or level,
        problem.message,
    )


def _column_numbers(result: FormCheck) -> dict[tuple[str, int], int]:
    """The numbers of columns by kind and index of a problem, from the marked cells of the excerpts."""
    return {
        (mark.kind, mark.index): _column_number(sheet.columns[mark.cell])
        for sheet in result.sheets
        for row in (sheet.header, *sheet.rows)
        for mark in row.marks
        if mark.cell is not None
        and 0 <= mark.cell < len(sheet.columns)
        and _LETTERS.fullmatch(sheet.columns[mark.cell])
    }


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _print_table(session: Session, checked: list[CheckedFile]) -> None:
    findings = [finding for each in checked for finding in each.findings]
    if findings:
        rows = [
            [clean_line(str(getattr(each, name) or "")) for name in COLUMNS] for each in findings
        ]
        session.output.print_table(COLUMNS, rows)
    bad = sum(each.exit_code != ExitCode.OK for each in checked)
    doubtful = sum(each.exit_code == ExitCode.OK and bool(each.findings) for each in checked)
    count = f"{len(checked)} form{'' if len(checked) == 1 else 's'}"
    session.output.note(
        f"{count} checked, {bad} with problems, {doubtful} with warnings. Nothing was imported."
    )


def _sarif(checked: list[CheckedFile], *, is_complete: bool) -> dict[str, Any]:
    """A log of SARIF 2.1.0: the rules are the codes, and lines are rows of the spreadsheet."""
    findings = [finding for each in checked for finding in each.findings]
    rules = [{"id": code} for code in dict.fromkeys(each.code for each in findings)]
    driver = {"name": "fieldgate-client", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": is_complete
                and all(each.status != "refused" for each in checked)
            }
        ],
        "results": [_sarif_result(each) for each in findings],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(finding: Finding) -> dict[str, Any]:
    region = {"startLine": max(finding.row or 1, 1)}  # code hosts show nothing without a line
    if finding.column_number:
        region["startColumn"] = finding.column_number
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _relative_uri(finding.file)},
            "region": region,
        }
    }
    if finding.sheet:
        location["logicalLocations"] = [{"name": finding.sheet, "kind": "module"}]
    place = ", ".join(
        filter(None, (finding.sheet, f"row {finding.row}" if finding.row else "", finding.column))
    )
    text = f"{place}: {finding.message}" if place else finding.message
    return {
        "ruleId": finding.code,
        "level": finding.level,
        "message": {"text": text},
        "locations": [location],
    }


def _relative_uri(file: str) -> str:
    """The address of a file in a repository: relative to the working directory if it is below that."""
    path = Path(file).resolve()
    return (
        quote(path.relative_to(Path.cwd()).as_posix())
        if path.is_relative_to(Path.cwd())
        else path.as_uri()
    )


CHECK = Command(
    summary="check forms without importing them",
    description="""\
Check XLSForms from files and folders like an import, which stores nothing. Only for
Fieldgate: other servers would import them, and get nothing.""",
    examples="""\
examples:
  %(prog)s household.xlsx
  %(prog)s forms/ --format sarif > forms.sarif
  %(prog)s household.xlsx --into aBcDeFgHiJkLmNoPqRsTuV --format json
""",
    add_arguments=_add_arguments,
    run=check_forms,
)
