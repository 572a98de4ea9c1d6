"""A provider, a service that knows it, and browsers that log in with it."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import fields
from typing import Any

import pytest

from fieldgate.providers import Provider
from fieldgate.settings import Settings
from tests.accounts.sign_on.sign_on_browser import SignOnBrowser
from tests.accounts.sign_on.stand_in_provider import CLIENT_ID, CLIENT_SECRET, StandInProvider
from tests.conftest import BASE_URL, Service, StartService, run_service
from tests.data.accounts import find_user

StartSignOn = Callable[..., AbstractAsyncContextManager[SignOnBrowser]]


def configured(provider: StandInProvider, **chosen: Any) -> Provider:
    """The entry of a provider in the settings."""
    values = {
        "id": "ngo",
        "name": "Red Cross account",
        "issuer": provider.issuer,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "create_users": True,
    }
    return Provider(**{**values, **chosen})


@pytest.fixture
def provider() -> Iterator[StandInProvider]:
    with StandInProvider() as started:
        yield started


@pytest.fixture
def sign_on(start: StartService, provider: StandInProvider) -> StartSignOn:
    """Start a service with the provider, and a browser. Keywords are fields of `Provider`."""

    @asynccontextmanager
    async def begin(
        settings: dict[str, Any] | None = None, others: tuple[Provider, ...] = (), **chosen: Any
    ) -> AsyncIterator[SignOnBrowser]:
        values = {
            "base_url": BASE_URL,
            "sign_on": (configured(provider, **chosen), *others),
            **(settings or {}),
        }
        async with start(**values) as service:
            yield SignOnBrowser(service)

    return begin


async def user_id_of(service: Service, username: str) -> int:
    row = find_user(service, username)
    assert row is not None
    return int(row.id)


@pytest.fixture(scope="module")
def running_provider() -> Iterator[StandInProvider]:
    with StandInProvider() as started:
        yield started


@pytest.fixture
def provider_of_service(running_provider: StandInProvider) -> Iterator[StandInProvider]:
    """The provider of `oidc_service`. What a test changes is undone after it."""
    usual = StandInProvider()
    yield running_provider
    for each in fields(usual):
        setattr(running_provider, each.name, getattr(usual, each.name))


@pytest.fixture(scope="module")
async def module_service(
    running_provider: StandInProvider, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    chosen = (configured(running_provider),)
    folder = tmp_path_factory.mktemp("sign-on")
    async with run_service(
        Settings(data=folder, access_log=False, base_url=BASE_URL, sign_on=chosen)
    ) as service:
        yield service


@pytest.fixture
def oidc_service(module_service: Service, provider_of_service: StandInProvider) -> SignOnBrowser:
    """A browser of a service that other tests use, too: nobody may succeed in logging in."""
    return SignOnBrowser(module_service)
