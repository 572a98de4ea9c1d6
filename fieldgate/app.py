"""Build the service from its settings."""

import logging.config
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import chain

from fieldgate.accounts import (
    admin_routes,
    leaving_routes,
    log_routes,
    service_account_routes,
    user_credentials_routes,
)
from fieldgate.accounts import routes as account_routes
from fieldgate.accounts.authentication import AccountAuthenticator
from fieldgate.accounts.invitations import InvitationStore
from fieldgate.accounts.leaving import AccountRemover
from fieldgate.accounts.log_store import LogStore
from fieldgate.accounts.login_throttle import LoginThrottle
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.sign_on.identities import IdentityStore
from fieldgate.accounts.sign_on.sign_on import SignOn
from fieldgate.accounts.storage_quota import StorageQuota
from fieldgate.accounts.store import AccountStore
from fieldgate.accounts.teams import TeamStore
from fieldgate.accounts.user_changes import UserEditor
from fieldgate.assets.asset_lists import AssetLists
from fieldgate.assets.asset_writer import AssetWriter
from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.deployments import Deployments
from fieldgate.assets.routes import (
    account_export,
    asset_routes,
    deployment_routes,
    form_routes,
    history_routes,
    trash_routes,
    version_routes,
    workbook_routes,
    write_routes,
)
from fieldgate.assets.routes.account_export import AccountExporter
from fieldgate.assets.routes.asset_records import AssetReader
from fieldgate.assets.routes.form_files import FormFiles
from fieldgate.assets.routes.unsupported_paths import UNSUPPORTED_PATH, unsupported_messages
from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.assets.sharing.ownership_invites import OwnershipInvites
from fieldgate.assets.sharing.review import ReviewStore
from fieldgate.assets.sharing.routes import (
    assignment_routes,
    batch_routes,
    bulk_routes,
    explain_routes,
    ownership_routes,
    review_routes,
    suggestion_routes,
    table_routes,
    team_routes,
    transfer_routes,
)
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.sharing.suggestions import SuggestionStore
from fieldgate.assets.sharing.team_assets import TeamAssets
from fieldgate.assets.sharing.transfer import OwnershipStore
from fieldgate.assets.store import TOPIC as ASSETS_TOPIC
from fieldgate.assets.store import AssetStore
from fieldgate.assets.tables import assignments
from fieldgate.assets.trash import Trash
from fieldgate.assets.version_restorer import VersionRestorer
from fieldgate.assets.workbook_downloads import WorkbookWriter
from fieldgate.db import (
    IDENTITY_TOPIC,
    AsyncDatabase,
    DataVersions,
    ReadTransaction,
    WriteTransaction,
    sqlite_file,
)
from fieldgate.db.database_readiness import DatabaseReadiness
from fieldgate.db.one_time_keys import OneTimeKeys
from fieldgate.db.use_lock import shared_use
from fieldgate.events import routes as event_routes
from fieldgate.events.export.exporter import EventExporter
from fieldgate.events.reader import EventReader
from fieldgate.events.summary import routes as event_summary_routes
from fieldgate.events.summary.totals import EventTotals
from fieldgate.http import health
from fieldgate.http.application import Application, OtherPaths
from fieldgate.http.endpoint import AppContext
from fieldgate.http.internal_api import InternalClient
from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.operations import Operation
from fieldgate.http.request.hosts import HostPolicy
from fieldgate.http.request.rate_limits import RateLimiter
from fieldgate.http.request.request_body import BodyDrainer
from fieldgate.http.response.cors import Cors
from fieldgate.http.response.response_cache import ResponseCache
from fieldgate.http.response.responses import strict_transport_security
from fieldgate.imports import annotated_routes, asset_warning_routes
from fieldgate.imports import routes as import_routes
from fieldgate.imports.content_checker import SandboxContentChecker
from fieldgate.imports.fetch.url_fetcher import URLFetcher
from fieldgate.imports.form_check import FormCheck
from fieldgate.imports.results import ResultWriter
from fieldgate.imports.sandbox.request_sandbox import RequestSandbox
from fieldgate.imports.sandbox.runner import SandboxLimits
from fieldgate.imports.schemas import PATH as IMPORTS_PATH
from fieldgate.imports.store import ImportStore
from fieldgate.metrics.access_log import logging_config
from fieldgate.metrics.requests import RequestMetrics
from fieldgate.overload import Overload
from fieldgate.permissions import routes as permission_routes
from fieldgate.reference import routes as reference_routes
from fieldgate.reference.store import ReferenceStore
from fieldgate.runtime.child_processes import exit_with_parent
from fieldgate.runtime.process_limits import set_mmap_threshold
from fieldgate.settings import Settings
from fieldgate.web import account_routes as web_account_routes
from fieldgate.web import routes as web_routes
from fieldgate.web import sign_on_routes, static_files
from fieldgate.web.browsable import BrowsablePages
from fieldgate.web.form_handling import FormDispatcher
from fieldgate.web.page_templates import PageTemplates
from fieldgate.web.pages import FORMS, PAGES
from fieldgate.web.static_files import StaticFiles

# How long a thread that computes, such as that of an export, keeps the interpreter from the event loop. A request needs
# it several times, once after each answer of the database, so Python's 5 ms add up.
THREAD_SWITCH_SECONDS = 0.0005


def operations() -> tuple[Operation, ...]:
    """All operations of the service."""
    modules = (
        permission_routes, import_routes, annotated_routes, asset_routes, trash_routes, write_routes, version_routes,
        deployment_routes, form_routes, asset_warning_routes, workbook_routes, assignment_routes, bulk_routes,
        table_routes, batch_routes, review_routes, suggestion_routes, explain_routes, admin_routes,
        user_credentials_routes, service_account_routes, leaving_routes, account_export, transfer_routes, log_routes,
        history_routes, ownership_routes, team_routes, event_routes, event_summary_routes, reference_routes,
    )  # fmt: skip
    of_modules = chain.from_iterable(module.routes for module in modules)
    resources = (*of_modules, *account_routes.credentials, *account_routes.routes)
    pages = (
        web_routes.routes,
        web_routes.api_docs,
        web_account_routes.routes,
        sign_on_routes.routes,
        static_files.routes,
    )
    return (
        *resources,
        health.index_operation(resources),
        *health.routes,
        *chain.from_iterable(pages),
    )


def other_paths(declared: Sequence[Operation]) -> OtherPaths:
    """Paths of old clients, and those of KoboToolbox that do not exist here."""
    return OtherPaths(
        aliases={"/assets": ASSETS_PATH.rstrip("/"), "/imports": IMPORTS_PATH.rstrip("/")},
        unsupported=UNSUPPORTED_PATH,
        unsupported_messages=unsupported_messages(operation.route.path for operation in declared),
    )


def build_app(
    settings: Settings,
    *,
    passwords: Passwords | None = None,
    fetcher: URLFetcher | None = None,
    extra_operations: Sequence[Operation] = (),
    openapi: OpenAPIDocument | None = None,
) -> Application:
    """Build the ASGI application.

    For tests: `extra_operations` are added to those of the service, and `openapi` is the document of all, if it exists.
    """
    database = AsyncDatabase(settings.database, is_pooled=settings.database_pooler)
    data_versions = DataVersions(database, ends=(ASSETS_TOPIC, assignments.c.expires_at))
    account_store = AccountStore(database, data_versions)
    passwords = passwords or Passwords()
    providers = frozenset(each.id for each in settings.sign_on)
    authenticator = AccountAuthenticator(
        account_store, passwords, LoginThrottle(database), settings.password_login, providers
    )
    request_metrics = RequestMetrics(settings)
    files = StaticFiles()
    templates = PageTemplates(files)
    internal_client = InternalClient()
    reference = ReferenceStore(database, data_versions)
    event_reader = EventReader(reference, record_cache_bytes=settings.record_cache_size)
    readiness = DatabaseReadiness(database)
    authorizer, asset_store = AssetAuthorizer(database), AssetStore(database, data_versions)
    trash = Trash(database, data_versions, settings.trash_days)
    sharing = AssignmentStore(database, data_versions)
    user_editor, identities = UserEditor(database, data_versions), IdentityStore(database)
    team_store = TeamStore(database, data_versions, trash.log_deleted_teams)
    sign_on = SignOn(settings, (account_store, identities, user_editor, team_store, reference))
    workbook_writer = WorkbookWriter()
    form_files = FormFiles(asset_store, workbook_writer)
    sandbox = RequestSandbox(SandboxLimits(settings.import_memory, settings.import_seconds))
    content_checker = SandboxContentChecker(sandbox, settings.max_upload)
    import_store = ImportStore(database, data_versions)
    results = ResultWriter(database, import_store, asset_store, sharing)
    quota = StorageQuota(
        settings.max_storage_per_user,
        asset_store.count_stored_bytes,
        import_store.count_stored_bytes,
    )
    used_forms = OneTimeKeys(database, timedelta(seconds=settings.session_lifetime))
    all_operations = (*operations(), *extra_operations)
    overload = Overload(settings.max_requests_in_flight, settings.upload_bytes_in_flight)
    services = (
        settings, database, data_versions, account_store, authenticator, request_metrics, files, templates,
        passwords, LogStore(database), InvitationStore(database), user_editor,
        team_store, identities, sign_on,
        AccountRemover(database, data_versions, trash),
        OwnershipStore(database, data_versions), ReviewStore(database),
        OwnershipInvites(database, data_versions, quota, settings.invite_days),
        admin_routes.PublicCollections(asset_store.count_public_collections),
        internal_client,
        import_store, quota, asset_store, AssetLists(database), authorizer, workbook_writer,
        form_files, AccountExporter(database, form_files, overload.exports),
        AssetReader(database, asset_store, sharing),
        sharing, TeamAssets(database, sharing), SuggestionStore(database),
        AssetWriter(database, data_versions, content_checker, quota),
        VersionRestorer(database, data_versions, quota), Deployments(database, data_versions),
        trash,
        fetcher or URLFetcher(settings.import_hosts), sandbox,
        import_routes.ImportChecker(FormCheck(sandbox, results, sharing).check),
        reference, event_reader, EventTotals(),
        overload.exports,
        EventExporter(database, event_reader, overload.exports),
        openapi or OpenAPIDocument(all_operations),
        health.Readiness(readiness),
    )  # fmt: skip
    app_context = AppContext(
        settings=settings,
        host_policy=HostPolicy(settings),
        cors=Cors(settings),
        https_headers=strict_transport_security(settings.hsts_max_age),
        body_drainer=BodyDrainer(settings.max_upload),
        authenticator=authenticator,
        rate_limiter=RateLimiter(settings, request_metrics.count_refusal),
        overload=overload,
        data_versions=data_versions,
        common_topics=(IDENTITY_TOPIC,),
        outage_problem=readiness.problem_of,
        response_cache=ResponseCache(settings.response_cache_size),
        request_metrics=request_metrics,
        page_renderer=BrowsablePages(templates, PAGES, internal_client),
        page_forms=FormDispatcher(FORMS, internal_client, settings, used_forms),
        services={type(service): service for service in services},
        transaction_runners={
            ReadTransaction: database.in_read,
            WriteTransaction: database.in_write,
        },
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        with shared_use(sqlite_file(settings.database)):
            try:
                yield
            finally:
                sandbox.close()
                await authenticator.close()
                await sign_on.close()
                await readiness.stop()
                await database.close()

    application = Application(all_operations, app_context, lifespan, other_paths(all_operations))
    internal_client.dispatch = application.call_internally
    return application


def create_app() -> Application:
    """The entry point of a worker process of `fieldgate serve`."""
    settings = Settings.from_environment(os.environ)
    logging.config.dictConfig(logging_config(settings.log_level))
    exit_with_parent()
    set_mmap_threshold()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    return build_app(settings)
