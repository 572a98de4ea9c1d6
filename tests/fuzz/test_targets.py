"""A bounded number of mutations of valid input for every parser; the same ones each time."""

import random

import pytest

from tests.fuzz.mutations import mutate
from tests.fuzz.targets import TARGETS

MUTATIONS = 4000  # of each target
SLOW_TARGETS = {"form-content": 500, "csv-workbook": 1000}


@pytest.mark.parametrize("name", TARGETS)
def test_parser_refuses_bad_input_properly(name: str) -> None:
    target = TARGETS[name]
    for seed in (*target.seeds, b""):
        target.check(seed)
    generator = random.Random(name)
    for _ in range(SLOW_TARGETS.get(name, MUTATIONS)):
        data = mutate(generator.choice(target.seeds), generator, target.seeds)
        try:
            target.check(data)
        except Exception as error:
            error.add_note(f"{name}: {data!r}")
            raise
