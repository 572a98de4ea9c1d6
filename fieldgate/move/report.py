"""What a run did or would do, as rows: for the terminal and as a workbook."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fieldgate_client.exports.xlsx import cell_text

from fieldgate.move.asset_mover import MoveResult
from fieldgate.move.plan import MoveAction

COLUMNS = ("action", "type", "name", "owner", "assignments", "note", "uid there", "uid here")
_WIDTHS = (10, 10, 40, 16, 12, 100, 26, 26)
NOTE = COLUMNS.index("note")


def report_rows(results: Iterable[MoveResult], notes: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """A row for each asset, with a line for each note about it, and a row for each note about none."""
    for each in results:
        shown = (
            each.action.value,
            each.asset_type,
            each.name,
            each.owner,
            str(each.assignments + each.waiting),
        )
        yield (*shown, "\n".join(each.reasons), each.source_uid, each.uid)
    for note in notes:
        yield (MoveAction.SKIP.value, "", "", "", "", note, "", "")


def summary(results: Sequence[MoveResult], *, is_dry_run: bool) -> str:
    counts = Counter(each.action for each in results)
    words = {
        MoveAction.CREATE: "to create" if is_dry_run else "created",
        MoveAction.CHANGE: "to change" if is_dry_run else "changed",
        MoveAction.UNCHANGED: "unchanged",
        MoveAction.KEEP: "kept as they are here",
        MoveAction.SKIP: "not moved",
    }
    return ", ".join(f"{word} {counts[action]}" for action, word in words.items())


def write_report(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a workbook. Text is always text, never a formula."""
    import xlsxwriter  # the dry run on a terminal does not need it

    with path.open("wb") as file, xlsxwriter.Workbook(file, {"constant_memory": True}) as workbook:
        sheet = workbook.add_worksheet("assets")
        sheet.freeze_panes(1, 0)
        lines = workbook.add_format({"text_wrap": True, "valign": "top"})
        for place, width in enumerate(_WIDTHS):
            sheet.set_column(place, place, width, lines)
        for number, row in enumerate([COLUMNS, *rows]):
            for place, text in enumerate(row):
                sheet.write_string(number, place, cell_text(text), lines)
