"""`fieldgate doctor`: check an installation."""

import asyncio
import os
from pathlib import Path

import click
import msgspec
from sqlalchemy.exc import ArgumentError

from fieldgate.cli.common import data_option
from fieldgate.db import AsyncDatabase, now, sqlite_file
from fieldgate.doctor.findings import Finding, Level, error
from fieldgate.settings import BadSetting, Settings

_SIGNS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.ERROR: "error  "}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--online",
    is_flag=True,
    help="Also ask the public address (FIELDGATE_BASE_URL) over the network.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port of the running service.  [default: FIELDGATE_PORT or 8000]",
)
@data_option
def doctor(as_json: bool, online: bool, port: int | None, data: Path | None) -> None:
    """Check settings, files, disk, database, clock, imports, backups and the running service.

    The exit status is 1 if there is an error, 0 if there are only warnings. Nothing is changed, and no secret is
    printed.
    """
    findings = asyncio.run(_examine(data, port, is_online=online))
    is_ok = all(finding.level != Level.ERROR for finding in findings)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"ok": is_ok, "findings": findings})))
    else:
        for finding in findings:
            click.echo(f"{_SIGNS[finding.level]}  {finding.check}: {finding.message}")
            if finding.advice:
                click.echo(f"         {finding.advice}")
    if not is_ok:
        raise SystemExit(1)


async def _examine(data: Path | None, port: int | None, *, is_online: bool) -> list[Finding]:
    # Slow to import, and other commands do not need them.
    from fieldgate.doctor.database_checks import check_database
    from fieldgate.doctor.machine_checks import (
        check_backup,
        check_disk,
        check_files,
        check_limits,
        check_spool,
        check_versions,
    )
    from fieldgate.doctor.service_checks import check_proxy, check_service
    from fieldgate.doctor.settings_checks import check_settings

    try:
        settings = Settings.from_environment(os.environ)
        given = {"data": data, "port": port}
        settings = msgspec.structs.replace(
            settings, **{name: value for name, value in given.items() if value is not None}
        )
        file = sqlite_file(settings.database)
    except BadSetting as found:
        return [error("settings", str(found), "Correct it. Nothing else was checked.")]
    except (ValueError, ArgumentError) as found:
        return [
            error(
                "settings",
                f"FIELDGATE_DATABASE_URL: {found}",
                "Correct it. Nothing else was checked.",
            )
        ]
    findings = [
        *check_settings(settings, os.environ),
        *check_versions(),
        *check_limits(settings),
        *check_spool(settings),
    ]
    if file is not None:
        findings += [
            *check_files(file, settings.data_option),
            *check_disk(file.parent),
            *check_backup(file, now()),
        ]
    if file is None or (file.is_file() and file.stat().st_size):
        database = AsyncDatabase(settings.database, is_pooled=settings.database_pooler)
        try:
            findings += await check_database(database)
        finally:
            await database.close()
    findings += [finding async for finding in check_service(settings)]
    findings += [finding async for finding in check_proxy(settings, is_online=is_online)]
    return findings
