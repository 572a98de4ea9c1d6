"""`Client` and `AsyncClient` have the same methods with the same arguments."""

import inspect

import pytest
from fieldgate_client import AsyncClient, Client

METHODS = [name for name, _ in inspect.getmembers(AsyncClient, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_arguments(name: str) -> None:
    parameters = [
        [
            (each.name, each.kind, each.default, each.annotation)
            for each in inspect.signature(method).parameters.values()
        ]
        for method in (getattr(AsyncClient, name), getattr(Client, name))
    ]
    assert parameters[0] == parameters[1]


def test_both_are_made_with_the_same_arguments() -> None:
    assert inspect.signature(Client) == inspect.signature(AsyncClient)
