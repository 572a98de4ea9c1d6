"""Filters of the server as options: `--regions__in 0,2` means `--filter regions__in=0,2`.

The server knows more filters than the command has options. Those with two underscores cannot be confused with options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_FILTER = re.compile(r"--([A-Za-z][A-Za-z0-9_]*__[A-Za-z0-9_]+)(=.*)?", re.DOTALL)


def expand_filters(arguments: Sequence[str]) -> list[str]:
    """The arguments of `fetch`, with such options written as `--filter NAME=VALUE`."""
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
