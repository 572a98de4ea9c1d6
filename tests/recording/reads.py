"""Every operation with GET: paths, callers, languages, formats, variants of lists, and what HTTP offers."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.recording.world import World

LANGUAGES = ("en", "fr", "ar", "es")
QUICK_LANGUAGES = ("en", "ar")
PAGE = "text/html"
JSON = "application/json"
FEW_CALLERS = ("anonymous", "owner", "root", "owner session")
PAGE_CALLERS = (
    "anonymous",
    "viewer",
    "stranger",
    "member",
    "limited token",
    "owner session",
    "viewer session",
    "root session",
)
QUICK_PAGE_CALLERS = ("anonymous", "owner session")
QUICK_QUERIES = 8  # of an operation
LIST_VARIANTS = (
    "limit=1", "limit=2&offset=1", "page=2&page_size=1", "limit=0", "limit=5000", "offset=x", "offset=99999", "start=1",
    "unknown=1", "format=api&limit=1",
)  # fmt: skip
# These are counted by the minute: two recordings have different numbers of entries.
LOG = "q=NOT action:export AND NOT action:auth-failed"
A = "/api/v2/assets/"
S = "permission-assignments/"


@dataclass(frozen=True)
class Read:
    """Paths of an operation, with names of the world as placeholders. `queries` are sent by few callers."""

    paths: tuple[str, ...]
    queries: tuple[str, ...] = ()
    is_list: bool = False
    formats: tuple[str, ...] = ()  # besides JSON and the page

    @property
    def own_query(self) -> str:
        return self.queries[0] if LOG in self.queries else ""


def of_assets(rest: str, *queries: str, names: tuple[str, ...] = (), is_list: bool = False) -> Read:
    names = names or ("household", "child", "hidden", "public", "collection")
    return Read(tuple(f"{A}{{{name}}}{rest}" for name in names), queries, is_list)


def of_log(path: str, *queries: str) -> Read:
    variants = tuple(f"{LOG} AND {query}" for query in queries)
    return Read(
        (path,),
        (LOG, *variants, f"{LOG}&limit=2", "q=x:y", "q=(", "limit=x"),
        formats=("csv", "ndjson"),
    )


EVENT_FILTERS = (
    "countries__in=123,93", "countries__in=999999", "countries__in=x", "regions__in=0", "countries__iso3__in=NPL,IND",
    "countries__all=93,27", "regions__all=0,2", "dtype=12", "dtype__in=1,2", "dtype=x", "id=5", "id__in=1,2,3",
    "appeal_type=1", "appeal_code=MDRNP003", "is_featured=true", "is_featured=2", "is_featured_region=1",
    "auto_generated_source=GDACs scraper", "glide=FL-2026-000001-NPL", "ifrc_severity_level=2",
    "ifrc_severity_level__in=0,1", "disaster_start_date__gte=2023-01-01",
    "disaster_start_date__lt=2022-01-01T10:00:00Z", "disaster_start_date=x",
    "created_at__gt=2026-01-10", "updated_at__lte=2026-02-20", "search=flood", "search=فيضان",
    'search="flood 5"', "search=ecole", "dtype=12&countries__in=123&search=flood", "nothing=1",
)  # fmt: skip
ORDERINGS = tuple(
    f"ordering={sign}{name}"
    for name in (
        "disaster_start_date", "created_at", "updated_at", "dtype", "name", "summary", "num_affected", "glide",
        "ifrc_severity_level", "id", "nothing",
    )
    for sign in ("", "-")
)  # fmt: skip
EXPORTS = ("csv", "ndjson", "geojson", "atom")

READS: dict[str, Read] = {
    "/api/v2/permissions/": Read(
        ("/api/v2/permissions/",), ("view_submissions=assign&partial_submissions=held&format=api",), is_list=True
    ),
    "/api/v2/permissions/effects/": Read(
        ("/api/v2/permissions/effects/",),
        (
            "held=change_asset&assign=view_submissions&remove=change_asset", "held=x", "asset_type=collection&assign=x",
            "asset_type=block&assign=manage_asset", "held=view_asset,partial_submissions&assign=view_submissions",
        ),
    ),
    "/api/v2/permissions/{codename}/": Read(
        ("/api/v2/permissions/view_asset/", "/api/v2/permissions/manage_asset.json", "/api/v2/permissions/nothing/")
    ),
    "/api/v2/permissions/{codename}/effects/": Read(
        ("/api/v2/permissions/change_asset/effects/",), ("held=view_asset", "asset_type=nothing", "held=nothing")
    ),
    "/api/v2/imports/": Read(
        ("/api/v2/imports/",), ("status=error", "status=x", "ordering=-date_created", "ordering=x"), is_list=True
    ),
    "/api/v2/imports/{uid}/": Read(
        tuple(f"/api/v2/imports/{{{name}}}/" for name in ("household_import", "problem_import", "asked_import"))
    ),
    "/api/v2/imports/{uid}/rows/": Read(
        ("/api/v2/imports/{problem_import}/rows/", "/api/v2/imports/{warned_import}/rows/")
    ),
    "/api/v2/imports/{uid}/annotated.xlsx": Read(
        ("/api/v2/imports/{problem_import}/annotated.xlsx", "/api/v2/imports/{household_import}/annotated.xlsx")
    ),
    A: Read(
        (A, "/assets/"),
        (
            "q=household", "q=name:Household", "q=asset_type:survey AND NOT tags:old", "q=parent:{collection}", "q=(",
            "q=owner__username:owner", "q=tags:health", "q=nothing:x", "q=parent:null", "asset_type=collection",
            "asset_type=x", "status=private", "status=shared", "status=public", "status=public-discoverable",
            "status=x",
            "collections_first=true", "collections_first=true&ordering=name", "current_user_permissions_only=true",
            "ordering=name", "ordering=-name", "ordering=asset_type", "ordering=owner__username", "ordering=x",
            "ordering=date_created", "ordering=-date_modified",
        ),
        is_list=True,
    ),
    f"{A}{{uid}}/": of_assets(
        "/", names=("household", "child", "hidden", "public", "collection", "empty", "deleted", "library", "warned")
    ),
    f"{A}deleted/": Read((f"{A}deleted/",), is_list=True),
    f"{A}{{uid}}/versions/": of_assets("/versions/", is_list=True),
    f"{A}{{uid}}/versions/{{version}}/": Read(
        (f"{A}{{household}}/versions/{{household_version1}}/", f"{A}{{public}}/versions/{{household_version1}}/")
    ),
    f"{A}{{uid}}/versions/{{version}}/file/": Read(
        (f"{A}{{household}}/versions/{{household_version1}}/file/", f"{A}{{public}}/versions/{{public_version1}}/file/")
    ),
    f"{A}{{uid}}/deployment/": of_assets("/deployment/"),
    f"{A}{{uid}}/questions/": of_assets(
        "/questions/", "language=French", "language=ar", "language=x", "version={household_version1}", "version=x",
        "list_name=region&version={household_version1}", is_list=True,
    ),
    f"{A}{{uid}}/versions/{{version}}/diff/": Read(
        tuple(f"{A}{{household}}/versions/{{household_version{number}}}/diff/" for number in (1, 2, 3)),
        ("against={household_version1}", "against=x", "language=fr", "limit=1", "limit=1&offset=1"),
    ),
    f"{A}{{uid}}/versions/{{version}}/warnings/": Read(
        (f"{A}{{warned}}/versions/{{warned_version1}}/warnings/",), is_list=True
    ),
    f"{A}{{uid}}.xlsx": of_assets(".xlsx", "version={household_version1}", "version=deployed", "version=x"),
    f"{A}{{uid}}.xls": of_assets(".xls", "version={household_version1}", names=("household", "public")),
    f"{A}{{uid}}/xform/": of_assets("/xform/", "version={household_version1}", "version=deployed", "version=x"),
    f"{A}{{uid}}.xml": of_assets(".xml", "version=deployed", names=("household", "public")),
    f"{A}{{uid}}/{S}": of_assets(
        f"/{S}", "teams=true", "teams=x", "change=viewer&format=api", "remove=viewer&format=api", "leave=1&format=api",
        "search=e&format=api", "change=nobody&format=api",
    ),
    f"{A}{{uid}}/{S}history/": of_assets(f"/{S}history/", is_list=True),
    f"{A}{{uid}}/{S}{{assignment}}/": Read(
        tuple(
            f"{A}{{household}}/{S}{{household_{holder}}}/"
            for holder in ("viewer_view_asset", "owner_view_asset", "team_view_asset", "partial_partial_submissions")
        )
    ),
    f"{A}{{uid}}/{S}csv/": of_assets(f"/{S}csv/"),
    f"{A}{{uid}}/{S}explain/": of_assets(
        f"/{S}explain/?user=viewer&permission=view_asset", "user=denied&permission=view_asset", "user=x&permission=x",
        "user=member&permission=view_submissions", "user=AnonymousUser&permission=view_asset", "user=viewer",
    ),
    f"/api/v2/{S}": Read(
        (f"/api/v2/{S}",),
        (
            "user=viewer", "team=WASH", "permission=view_asset", "asset={household}", "owner=owner", "inherited=true",
            "expires_before=2032-01-01", "not_seen_since=2030-01-01", "ordering=user", "ordering=-asset", "ordering=x",
            "user=nobody", "asset=x",
        ),
        is_list=True, formats=("csv", "xlsx"),
    ),
    f"/api/v2/{S}suggestions/": Read((f"/api/v2/{S}suggestions/",), is_list=True),
    "/api/v2/users/": Read(
        ("/api/v2/users/",), ("search=own", "search=zzz", "status=all", "status=disabled", "status=x"), is_list=True
    ),
    "/api/v2/users/{username}/": Read(
        tuple(f"/api/v2/users/{name}/" for name in ("owner", "viewer", "disabled", "bot", "AnonymousUser", "nobody"))
    ),
    "/api/v2/users/{username}/tokens/": Read(("/api/v2/users/owner/tokens/", "/api/v2/users/no/tokens/"), is_list=True),
    "/api/v2/users/{username}/sessions/": Read(("/api/v2/users/viewer/sessions/",), is_list=True),
    "/api/v2/service-accounts/": Read(("/api/v2/service-accounts/",), is_list=True),
    "/api/v2/service-accounts/{username}/": Read(
        ("/api/v2/service-accounts/bot/", "/api/v2/service-accounts/owner/")
    ),
    "/api/v2/service-accounts/{username}/tokens/": Read(("/api/v2/service-accounts/bot/tokens/",), is_list=True),
    "/me/": Read(("/me/",)),
    "/api/v2/account/export/": Read(("/api/v2/account/export/",)),
    "/api/v2/audit-logs/": of_log("/api/v2/audit-logs/", "action:create", "username:owner", "NOT action:auth"),
    "/api/v2/access-logs/": of_log("/api/v2/access-logs/", "username:viewer"),
    "/api/v2/access-logs/me/": of_log("/api/v2/access-logs/me/"),
    "/api/v2/project-history-logs/": of_log("/api/v2/project-history-logs/", "action:deploy"),
    f"{A}{{uid}}/history/": of_log(f"{A}{{household}}/history/", "action:deploy"),
    f"{A}{{uid}}/history/actions/": Read((f"{A}{{public}}/history/actions/",)),
    "/api/v2/project-ownership/invites/": Read(
        ("/api/v2/project-ownership/invites/",), ("status=pending", "status=x", "received=true"), is_list=True
    ),
    "/api/v2/project-ownership/invites/{uid}/": Read(("/api/v2/project-ownership/invites/{invite}/",)),
    "/api/v2/project-ownership/invites/{uid}/transfers/": Read(
        ("/api/v2/project-ownership/invites/{invite}/transfers/",), is_list=True
    ),
    "/api/v2/project-ownership/invites/{uid}/transfers/{transfer}/": Read(
        ("/api/v2/project-ownership/invites/{invite}/transfers/{transfer}/",)
    ),
    "/api/v2/teams/": Read(("/api/v2/teams/",), is_list=True),
    "/api/v2/teams/{uid}/": Read(("/api/v2/teams/{team}/",), ("delete=1&format=api",)),
    "/api/v2/teams/{uid}/members/": Read(("/api/v2/teams/{team}/members/",), is_list=True),
    "/api/v2/teams/{uid}/members/{username}/": Read(
        ("/api/v2/teams/{team}/members/member/", "/api/v2/teams/{team}/members/viewer/")
    ),
    "/api/v2/teams/{uid}/assets/": Read(("/api/v2/teams/{team}/assets/",), is_list=True),
    "/api/v2/event/": Read(
        ("/api/v2/event/",),
        (
            *EVENT_FILTERS, *ORDERINGS, "tableau=true", "bom=true&format=csv",
            "format=atom&limit=3",
            "country=Nepal&format=api", "from=2024-01-01&until=2025-01-01&format=api", "period=5-years&format=api",
            "measure=affected&format=api", "measure=gap&format=api",
        ),
        is_list=True, formats=EXPORTS,
    ),
    "/api/v2/event/mini/": Read(("/api/v2/event/mini/",), (*EVENT_FILTERS, *ORDERINGS), is_list=True),
    "/api/v2/event/deleted/": Read(
        ("/api/v2/event/deleted/",), ("since=2020-01-01", "since=2099-01-01", "since=x"), is_list=True
    ),
    "/api/v2/event/export/": Read(
        ("/api/v2/event/export/",),
        (*EVENT_FILTERS[:12], "bom=true", "ordering=name", "format=nothing"),
        formats=(*EXPORTS, "xlsx"),
    ),
    "/api/v2/event/{id}/": Read(
        tuple(f"/api/v2/event/{key}/" for key in (1, 2, 3, 4, 5, 8, 12, 59, 24, 9999, "x"))
    ),
    "/api/v2/event/summary/": Read(
        ("/api/v2/event/summary/",), (*EVENT_FILTERS, "tableau=true", "nothing=1")
    ),
    "/api/v2/country/": Read(
        ("/api/v2/country/",),
        (
            "id=123", "id__in=1,2", "iso=np", "iso3=NPL", "name=nepal", "search=gui", "search=النيبال", "region=0",
            "region__in=1,2", "record_type=3", "record_type__in=2,4", "is_independent=true", "is_nationalsociety=true",
            "is_deprecated=true", "mini=true", "ordering=-name", "ordering=id", "ordering=x", "region=x",
        ),
        is_list=True,
    ),
    "/api/v2/country/{id}/": Read(("/api/v2/country/123/", "/api/v2/country/999999/", "/api/v2/country/x/")),
    "/api/v2/region/": Read(("/api/v2/region/",), ("id__in=1,2", "search=africa"), is_list=True),
    "/api/v2/region/{id}/": Read(("/api/v2/region/0/", "/api/v2/region/99/")),
    "/api/v2/disaster_type/": Read(
        ("/api/v2/disaster_type/",), ("id__in=1,12", "name=flood", "search=storm", "ordering=-name"), is_list=True
    ),
    "/api/v2/disaster_type/{id}/": Read(("/api/v2/disaster_type/12/", "/api/v2/disaster_type/999/")),
    "/token/": Read(("/token/",)),
    "/api/v2/account/": Read(("/api/v2/account/",)),
    "/api/v2/account/tokens/": Read(("/api/v2/account/tokens/",), is_list=True),
    "/api/v2/account/sessions/": Read(("/api/v2/account/sessions/",), is_list=True),
    "/api/v2/account/identities/": Read(("/api/v2/account/identities/",), is_list=True),
    "/api/v2/": Read(("/api/v2/",)),
    "/healthz": Read(("/healthz",)),
    "/readyz": Read(("/readyz",)),
    "/metrics": Read(("/metrics",)),
    "/api-docs/openapi.json": Read(("/api-docs/openapi.json",)),
    "/api-docs/openapi.yaml": Read(("/api-docs/openapi.yaml",)),
    "/api-docs/swagger-ui/": Read(("/api-docs/swagger-ui/",)),
}  # fmt: skip
# What the OpenAPI document does not have: pages, old paths, paths that are not there.
OTHER = (
    "/", "/?q=flood", "/?q=household", "/?q=zzzz", "/login/", "/login/?next=/api/v2/assets/", "/account/",
    "/invitation/fgi_nothing/", "/language/fr/?next=/api/v2/event/", "/docs/guide/", "/docs/recipes/", "/docs/nothing/",
    "/favicon.ico", "/login/nobody/", "/nothing/", "/static/x/nothing.css", "//api/v2/region/", "/api/v2/region",
    "/api/v2/assets/nothing/", "/assets/{household}/", "/imports/", "/api/v2/assets/{household}/data/",
    "/api/v2/assets/{household}/{household}.xml", "/api/v2/assets/{household}/hooks/",
    "/api/v2/event/response-activity/",
)  # fmt: skip
# Headers, and what they are about
TRANSPORT: tuple[dict[str, str], ...] = (
    {"Accept": "image/png"},
    {"Accept": "application/problem+json"},
    {"Accept": "*/*;q=0.1, text/html;q=0.5"},
    {"Prefer": "handling=strict"},
    {"Accept-Language": "fr-CA;q=0.5, es;q=0.9"},
    {"Accept-Language": "de"},
    {"Origin": "https://other.example"},
    {"Authorization": "Token wrong"},
    {"Authorization": "Basic eA=="},
)
ENCODINGS = ("gzip", "br", "zstd")
SLOW = ("/metrics", "/api-docs/openapi.json", "/api-docs/openapi.yaml", "/api/v2/account/export/")


def record_reads(world: World) -> Iterator[str]:
    """Record all requests; yield each template before its requests."""
    for template, read in READS.items():
        if world.recorder.skips("GET", template):
            continue
        yield template
        _record_callers(world, template, read)
        _record_queries(world, template, read)
        _record_formats(world, template, read)
        _record_transport(world, template, _with_query(read.paths[0], read.own_query))
    if not world.recorder.skips("GET", "other"):
        yield from _record_other(world)


def _languages(world: World) -> tuple[str, ...]:
    return QUICK_LANGUAGES if world.recorder.is_quick else LANGUAGES


def _record_callers(world: World, template: str, read: Read) -> None:
    """The first path by every caller as JSON and as a page, and in every language; the others by fewer."""
    is_quick = world.recorder.is_quick
    callers = tuple(world.recorder.callers)
    page_callers: tuple[str, ...] = PAGE_CALLERS
    if is_quick or template in SLOW:
        callers = FEW_CALLERS
    if is_quick:
        page_callers = QUICK_PAGE_CALLERS
    for number, path in enumerate(read.paths):
        path = _with_query(path, read.own_query)
        if number == 2:
            callers = tuple(caller for caller in callers if not _is_special(caller))
        for caller in callers:
            _get(world, template, path, caller)
            if caller in page_callers and not _is_file(template):
                _get(world, template, path, caller, {"Accept": PAGE})
        page_callers = ("owner", "viewer")
    if template not in SLOW and not _is_file(template):
        _record_languages(world, template, _with_query(read.paths[0], read.own_query))


def _record_languages(world: World, template: str, path: str) -> None:
    for caller in ("anonymous", "owner session"):
        for language in _languages(world)[1:]:
            for accept in (JSON, PAGE):
                headers = {"Accept": accept, "Accept-Language": language}
                _get(world, template, path, caller, headers)


def _record_queries(world: World, template: str, read: Read) -> None:
    first = read.paths[0]
    queries = read.queries
    callers: tuple[str, ...] = ("owner", "root")
    if world.recorder.is_quick:
        queries = queries[:QUICK_QUERIES]
        callers = ("owner",)
    for query in queries:
        for caller in callers:
            _get(world, template, _with_query(first, query), caller)
    for query in LIST_VARIANTS if read.is_list else ():
        _get(world, template, _with_query(first, query), "root")


def _record_formats(world: World, template: str, read: Read) -> None:
    for form in read.formats:
        path = _with_query(_with_query(read.paths[0], read.own_query), f"format={form}")
        for language in _languages(world):
            for caller in ("anonymous", "nepal", "root"):
                _get(world, template, path, caller, {"Accept-Language": language})


def _is_special(caller: str) -> bool:
    """Whether it is another way in for a user who is a caller anyway."""
    return caller.endswith(("session", "token"))


def _is_file(template: str) -> bool:
    return template.endswith((".xlsx", ".xls", ".xml", "/xform/", "/file/", "/csv/", "/export/"))


def _record_transport(world: World, template: str, path: str) -> None:
    record = world.recorder.record
    path = path.format(**world.names)
    if world.recorder.is_quick and template in SLOW:
        return
    for method in ("HEAD", "OPTIONS", "PUT" if "event" not in template else "PATCH"):
        record("root", method, template, path)
    for headers in TRANSPORT:
        record("root", "GET", template, path, headers)
    record("root", "GET", template, _with_query(path, "nothing=1"), {"Prefer": "handling=strict"})
    record("root", "GET", template, _with_query(path, "format=nothing"))
    if template in SLOW:
        return
    for accept in (JSON,) if _is_file(template) else (JSON, PAGE):
        plain = record("root", "GET", template, path, {"Accept": accept})
        if "etag" in plain.headers:
            world.recorder.record_conditional("root", template, path, {"Accept": accept})
            record("root", "GET", template, path, {"Accept": accept, "If-None-Match": '"x"'})
        for encoding in ENCODINGS if accept == JSON else ENCODINGS[:1]:
            record("root", "GET", template, path, {"Accept": accept, "Accept-Encoding": encoding})


def _record_other(world: World) -> Iterator[str]:
    for path in OTHER:
        yield path
        for caller in ("anonymous", "owner session", "viewer session", "root session"):
            for language in ("en", "ar"):
                _get(world, path, path, caller, {"Accept": PAGE, "Accept-Language": language})
        _get(world, path, path, "owner")
    start = world.recorder.client.get("/").text
    for name in dict.fromkeys(part.split('"')[0] for part in start.split('"/static/')[1:]):
        _get(world, "/static/", f"/static/{name}", "anonymous")


def _get(
    world: World, template: str, path: str, caller: str, headers: dict[str, str] | None = None
) -> None:
    world.recorder.record(caller, "GET", template, path.format(**world.names), headers)


def _with_query(path: str, query: str) -> str:
    if not query:
        return path
    if path.endswith(
        "permission=view_asset"
    ):  # of explain/: a complete query replaces the one of the path
        path = path.split("?")[0]
    return f"{path}{'&' if '?' in path else '?'}{query}"
