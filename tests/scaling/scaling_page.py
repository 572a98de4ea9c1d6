"""docs/scaling.md, from the results of all sections."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.scaling.sections import DIRECT, IDLE, IMPORT, POOLED, PROCESSES, WORKERS

TEMPLATE = Path(__file__).with_name("page_template.md")
MANY = str(PROCESSES)
FAULTS = {"failover": "failover", "rolling": "rolling restart", "killed": "one service killed"}


def render(results: dict[str, Any]) -> str:
    """The page. Results of all sections are needed."""
    starts, requests, rates = results["start"], results["statements"], results["rates"]
    failover, rolling = results["failover"], results["restarts"]["rolling"]
    checked = [each for each in results["visibility"].values() if "permission_checks" in each]
    late = sum(sum(each["late_permissions"].values()) for each in checked)
    checks = sum(each["permission_checks"] for each in checked)
    page = "50 events, other pages"
    idle = requests[IDLE.format(PROCESSES, WORKERS)]["statements"]
    four = max(max(starts[way][MANY]["seconds"]) for way in starts)
    resident = max(each["resident_megabytes"] for way in starts.values() for each in way.values())
    direct = starts[DIRECT][MANY]["peak_connections"]["postgresql"]
    gigabytes = results["database_bytes"] / 1e9
    values = {
        **{name: f"{size:,}" for name, size in results["sizes"].items()},
        "date": results["date"], "cores": results["cores"], "gigabytes": _number(gigabytes),
        "gigabytes_10": _tenfold(gigabytes), "processes": PROCESSES, "workers": WORKERS,
        "processes_10": 10 * PROCESSES, "workers_10": 10 * WORKERS, "start_table": _start_table(starts),
        "request_table": _request_table(requests, rates), "idle_statements": _number(idle),
        "idle_statements_10": _tenfold(idle), "visibility_table": _visibility_table(results["visibility"]),
        "permissions_right": f"{checks - late:,}", "permission_checks": f"{checks:,}",
        "fault_table": _fault_table({"failover": failover, **results["restarts"]}),
        "redirect_seconds": _number(failover["redirect_seconds"]), "failover_seconds": _number(failover["seconds"]),
        "failover_pause": _number(failover["longest_pause"]), "rolling_seconds": _number(rolling["seconds"]),
        "rolling_seconds_10": _tenfold(rolling["seconds"]),
        "write_rate_1": _number(rates["write an event"]["1"]["rate"]),
        "write_rate_4": _number(rates["write an event"][MANY]["rate"]),
        "direct_connections": direct, "direct_connections_10": _tenfold(direct),
        "pgbouncer_connections_10": _tenfold(starts[POOLED][MANY]["peak_connections"]["pgbouncer"]),
        "page_statements": _number(requests[page]["statements"]),
        "page_rate_10": _tenfold(rates[page][MANY]["rate"]),
        "page_statements_10": _tenfold(rates[page][MANY]["rate"] * requests[page]["statements"]),
        "start_4": _number(four), "start_4_10": _tenfold(four),
        "resident": _number(resident), "resident_10": _tenfold(resident),
    }  # fmt: skip
    return TEMPLATE.read_text().format_map(values)


def _start_table(starts: dict[str, Any]) -> str:
    rows = []
    for way, counts in starts.items():
        for number, found in counts.items():
            peak = found["peak_connections"]
            rows.append(
                [
                    f"{way}, {number}", f"{_number(max(found['seconds']))} s",
                    f"{_number(found['resident_megabytes'])} MB", f"{_number(found['proportional_megabytes'])} MB",
                    peak["pgbouncer"], peak["postgresql"],
                ]
            )  # fmt: skip
    heads = [
        "way, processes", "start to first page", "memory", "memory of a service", "connections to PgBouncer",
        "connections to PostgreSQL",
    ]  # fmt: skip
    return _table(heads, rows)


def _request_table(requests: dict[str, Any], rates: dict[str, Any]) -> str:
    rows = []
    for name, by_count in rates.items():
        row = [name, _number(requests[name]["statements"]), _number(requests[name]["transactions"])]
        for number in ("1", MANY):
            sample = by_count[number]
            row.append(_number(sample["rate"]))
            row.append(
                f"{_number(sample['p50'])}, {_number(sample['p99'])}" if name != IMPORT else ""
            )
        rows.append(row)
    heads = [
        "request",
        "statements",
        "transactions",
        "1 process, /s",
        "ms",
        f"{MANY} processes, /s",
        "ms",
    ]
    return _table(heads, rows)


def _visibility_table(conditions: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{found['writes']:,}",
            *(f"{found[figure]:.3f}" for figure in ("p50", "p99", "max")),
        ]
        for name, found in conditions.items()
    ]
    return _table(["condition", "writes", "median", "99th percentile", "longest"], rows)


def _fault_table(faults: dict[str, Any]) -> str:
    rows = []
    for name, title in FAULTS.items():
        found = faults[name]
        rows.append(
            [
                title, f"{found['acknowledged']:,}", found["lost"], found["duplicated"], _statuses(found["writes"]),
                _statuses(found["reads"]),
            ]
        )  # fmt: skip
    return _table(
        [
            "fault",
            "acknowledged writes",
            "lost",
            "twice",
            "responses to writes",
            "responses to reads",
        ],
        rows,
    )


def _statuses(statuses: dict[str, int]) -> str:
    return ", ".join(f"{status}: {number:,}" for status, number in statuses.items())


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _tenfold(figure: float) -> str:
    """An estimate: two digits of it are enough."""
    return f"{float(f'{10 * figure:.2g}'):,.0f}" if figure >= 1 else f"{10 * figure:.2g}"


def _number(figure: float) -> str:
    return (
        f"{figure:,.0f}" if figure >= 100 else f"{figure:.2g}" if figure < 10 else f"{figure:.0f}"
    )
