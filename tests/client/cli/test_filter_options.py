"""Filters of the server as options of `fetch`."""

import pytest
from fieldgate_client.cli.fetch import expand_filters


@pytest.mark.parametrize(
    ("arguments", "expanded"),
    [
        (["fetch", "event/", "--regions__in", "0,2"], ["fetch", "event/", "--filter=regions__in=0,2"]),
        (["fetch", "--name__x=a=b", "event/"], ["fetch", "--filter=name__x=a=b", "event/"]),
        (["fetch", "--updated_at__gte", "2026-01-01", "-q"], ["fetch", "--filter=updated_at__gte=2026-01-01", "-q"]),
        (["fetch", "event/", "--regions__in"], ["fetch", "event/", "--regions__in"]),
        (["fetch", "event/", "--page-size", "5"], ["fetch", "event/", "--page-size", "5"]),
        (["import", "--regions__in", "0"], ["import", "--regions__in", "0"]),
        ([], []),
    ],
)
def test_expansion(arguments: list[str], expanded: list[str]) -> None:
    assert expand_filters(arguments) == expanded
