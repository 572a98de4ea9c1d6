"""The whole service from its settings: all the wiring, on one page."""

import asyncio
import logging.config
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fieldgate.accounts import routes as account_routes
from fieldgate.accounts.authentication import AccountAuthenticator
from fieldgate.accounts.login_throttle import LoginThrottle
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore
from fieldgate.assets import routes as asset_routes
from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.sharing.routes import assignment_routes as sharing_routes
from fieldgate.assets.sharing.routes import batch_routes as many_routes
from fieldgate.assets.sharing.routes import bulk_routes as everybody_routes
from fieldgate.assets.sharing.routes import explain_routes, user_routes
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.db import Database, DataVersions
from fieldgate.events import routes as event_routes
from fieldgate.events.export.export import EventExporter
from fieldgate.events.reindex import event_rebuilder
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.store import EventStore
from fieldgate.http import health
from fieldgate.http.application import Application
from fieldgate.http.endpoint import AppContext
from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.operations import Operation
from fieldgate.http.request.hosts import HostPolicy
from fieldgate.http.response.cors import Cors
from fieldgate.http.response.response_cache import ResponseCache
from fieldgate.imports import routes as import_routes
from fieldgate.imports.fetch.url_fetcher import URLFetcher
from fieldgate.imports.store import ImportStore
from fieldgate.metrics.access_log import logging_config
from fieldgate.metrics.requests import RequestMetrics
from fieldgate.permissions import routes as permission_routes
from fieldgate.permissions.catalogue import Catalogue
from fieldgate.reference import routes as reference_routes
from fieldgate.reference.store import ReferenceStore
from fieldgate.runtime.malloc import set_mmap_threshold
from fieldgate.runtime.parent_watch import exit_with_parent
from fieldgate.settings import Settings
from fieldgate.web import routes as web_routes
from fieldgate.web import static_files as web_assets
from fieldgate.web.browsable import BrowsablePages
from fieldgate.web.page_templates import PageTemplates
from fieldgate.web.static_files import StaticFiles


def operations() -> tuple[Operation, ...]:
    """Everything the service answers."""
    resources = (
        *permission_routes.OPERATIONS,
        *import_routes.OPERATIONS,
        *asset_routes.OPERATIONS,
        *sharing_routes.OPERATIONS,
        *everybody_routes.OPERATIONS,
        *many_routes.OPERATIONS,
        *explain_routes.OPERATIONS,
        *user_routes.OPERATIONS,
        *event_routes.OPERATIONS,
        *reference_routes.OPERATIONS,
        *account_routes.OPERATIONS,
    )
    pages = (*web_routes.OPERATIONS, *web_assets.OPERATIONS)
    return (*resources, health.index_operation(resources), health.healthz, health.readyz, health.metrics, *pages)


def build_app(
    settings: Settings,
    *,
    passwords: Passwords | None = None,
    fetcher: URLFetcher | None = None,
    extra_operations: Sequence[Operation] = (),
) -> Application:
    """The ASGI application. `more` are operations beside our own, such as a test declares."""
    database = Database(settings.database)
    changes = DataVersions(database)
    store = AccountStore(database, changes)
    accounts = AccountAuthenticator(store, passwords or Passwords(), LoginThrottle(database))
    observer = RequestMetrics(settings)
    assets = StaticFiles()
    pages = PageTemplates(assets)
    reference = ReferenceStore(database, changes)
    event_store = EventStore(database, changes)
    events = EventSearch(
        event_store,
        reference,
        changes,
        record_cache_bytes=settings.kept_records,
        on_lag=observer.lag_setter("events"),
    )
    rebuilder = event_rebuilder(database, changes)
    answered = (*operations(), *extra_operations)
    provided = (
        settings, database, changes, store, accounts, observer, assets, pages,
        ImportStore(database, changes), AssetStore(database, changes), AssetAuthorizer(database),
        AssignmentStore(database, changes), fetcher or URLFetcher(settings.import_hosts),
        reference, event_store, events, EventExporter(events, event_store),
        Catalogue(), OpenAPIDocument(answered), health.Readiness(database, rebuilder.readiness_details),
    )  # fmt: skip
    site = AppContext(
        settings=settings,
        host_policy=HostPolicy(settings),
        cors=Cors(settings),
        authenticator=accounts,
        data_versions=changes,
        response_cache=ResponseCache(settings.kept_answers),
        request_metrics=observer,
        page_renderer=BrowsablePages(pages),
        services={type(each): each for each in provided},
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        await changes.start()
        background = [asyncio.create_task(events.warm()), asyncio.create_task(rebuilder.run_in_background())]
        try:
            yield
        finally:
            for task in background:
                task.cancel()
            await asyncio.wait(background)
            await accounts.close()
            await events.stop()
            await changes.stop()
            await database.close()

    return Application(answered, site, lifespan)


def create_app() -> Application:
    """What a worker process of `fieldgate serve` loads."""
    settings = Settings.from_environment(os.environ)
    logging.config.dictConfig(logging_config(settings.log_level))
    exit_with_parent()
    set_mmap_threshold()
    return build_app(settings)
