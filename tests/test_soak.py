"""Parts of the soak test that could be wrong unnoticed: rounds, percentiles, targets, and a run of some seconds."""

from asyncio import to_thread
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.machine import this_machine
from benchmarks.processes import output_of
from benchmarks.soak import plan_rounds, run_rounds, run_soaked_server, summarize
from benchmarks.soak_attacks import ATTACKS, address_of
from benchmarks.soak_callers import KINDS, CallerJob, Callers, CallSample
from benchmarks.soak_people import add_attacker, add_people
from benchmarks.soak_report import ResourceSample, SoakRound, draw, growth, percentile, round_of, with_section
from tests.processes import FIELDGATE_COMMAND

# Seconds of a flood if an earlier one got no response: the server may still be busy with the attacks before it.
LONGER_FLOODS = (1.0, 5.0, 25.0)


def flood_statuses(rounds: list[SoakRound]) -> set[str]:
    """Statuses that a flood saw, besides connections that were closed and errors of connections."""
    return {name for each in rounds if each.attack == "flood" for name in each.seen if name.isdigit()}


def round_at(began: float, attack: str = "") -> SoakRound:
    return SoakRound(attack=attack, began=began, ended=began + 10)


def calls_at(began: float, milliseconds: float, status: int = 200) -> list[CallSample]:
    return [CallSample(began + number / 10, "list reader", milliseconds / 1000, status) for number in range(100)]


@pytest.mark.parametrize(("share", "found"), [(0.5, 50), (0.99, 99), (1, 100), (0, 1)])
def test_percentile(share: float, found: int) -> None:
    assert percentile(range(1, 101), share) == found
    assert percentile([], share) == 0


def test_rounds_alternate_and_every_attack_has_its_turn() -> None:
    for minutes in (0.1, 3, 10, 60):
        plan = plan_rounds(minutes * 60, list(ATTACKS))
        assert {attack for attack, _ in plan[::2]} == {""}
        attacked = [attack for attack, _ in plan[1::2]]
        assert attacked == list(ATTACKS) * (len(attacked) // len(ATTACKS))
    assert len({address_of(name) for name in ATTACKS}) == len(ATTACKS)


def test_targets_compare_medians_of_rounds() -> None:
    rounds, calls = [], []
    for number, (quiet, attacked) in enumerate([(10.0, 20.0), (12.0, 36.0), (11.0, 900.0)]):
        began = number * 100.0
        rounds += [round_at(began), round_at(began + 50, "flood")]
        calls += [*calls_at(began, quiet), *calls_at(began + 50, attacked), *calls_at(began + 30, 5000)]
    report = summarize(this_machine(), 100, 40, rounds, calls, [])
    tail, good, *_ = report.checks
    assert (round(tail.found, 2), tail.is_met) == (round(36 / 11, 2), False)
    assert (good.found, good.is_met) == (1, True)
    calls += calls_at(250, 10, status=429)[:1]
    assert not summarize(this_machine(), 100, 40, rounds, calls, []).checks[1].is_met


def test_requests_without_a_response_count_as_slow_and_failed() -> None:
    found = round_of(round_at(0), [*calls_at(0, 5), *[CallSample(9.9, "importer", 10.0, 0)] * 3])
    assert found.percentiles["p50"] == 5
    assert found.percentiles["p99"] == 10_000
    assert found.statuses == {"200": 100, "none": 3}


def test_growth_is_measured_without_the_attacker() -> None:
    quiet = [round_at(0), round_at(100), round_at(200)]
    resources = [ResourceSample(5, 100_000_000, 30), ResourceSample(55, 900_000_000, 2000),
                 ResourceSample(205, 150_000_000, 31)]  # fmt: skip
    assert growth(quiet, resources) == (50.0, 1.0)


async def test_callers_and_attacks_reach_a_real_server(tmp_path: Path) -> None:
    """Every caller gets a good response, every attack runs, and the flood is answered. Nothing is timed."""
    output_of([str(FIELDGATE_COMMAND), "events", "demo", "200", "--data", str(tmp_path)])
    people = await to_thread(add_people, tmp_path)
    token = await to_thread(add_attacker, tmp_path)
    with run_soaked_server(tmp_path, None, None) as (_, port):
        async with Callers(CallerJob(port, people, 200, "")) as callers:
            for kind in (*KINDS, "sharing"):
                await callers.call(kind, 0.0)
        assert {sample.kind for sample in callers.samples} == set(KINDS)
        assert all(sample.is_good for sample in callers.samples), callers.samples
        plan = [("", 0.0), *((name, 0.5) for name in ATTACKS)]
        rounds = await to_thread(run_rounds, plan, port, token, None, lambda _: None)
        for seconds in LONGER_FLOODS:
            if flood_statuses(rounds):
                break
            rounds += await to_thread(run_rounds, [("flood", seconds)], port, token, None, lambda _: None)
    assert {each.attack for each in rounds} == {"", *ATTACKS}
    assert flood_statuses(rounds)
    assert flood_statuses(rounds) <= {"200", "429"}
    calls = [sample._replace(at=rounds[-1].began) for sample in callers.samples]
    report = summarize(this_machine(), 1, 1, rounds, calls, [ResourceSample(rounds[-1].began, 10**8, 30)])
    draw(report, tmp_path)
    for name in ("soak-latency.svg", "soak-resources.svg"):
        assert ElementTree.parse(tmp_path / name).getroot().tag.endswith("svg")
    page = with_section("before\n<!-- soak: begin -->old<!-- soak: end -->\nafter\n", report)
    assert page.startswith("before\n<!-- soak: begin -->\nMeasured on")
    assert page.endswith("<!-- soak: end -->\nafter\n")
    assert "old" not in page
