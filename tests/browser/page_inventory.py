"""Every page: its name, its URL on the demo site, and who looks at it."""

from dataclasses import dataclass

from tests.browser.demo_site import ANONYMOUS, COLLEAGUE, SUPERUSER, USER, DemoSite


@dataclass(frozen=True)
class PageEntry:
    """A page. `path` has names of `DemoSite.paths` as placeholders."""

    name: str
    path: str
    role: str = ANONYMOUS
    status: int = 200
    is_external: bool = False  # Swagger UI: in English only, written by others
    like: str = (
        ""  # the entry with the same template and parts that `make test` looks at with axe instead
    )

    def url(self, site: DemoSite) -> str:
        return self.path.format(**site.paths)

    def __str__(self) -> str:
        return self.name


_EVENTS = "/api/v2/event/"
_PERMISSIONS = "/api/v2/permissions/"

PAGES: tuple[PageEntry, ...] = (
    PageEntry("home", "/", like="home-user"),
    PageEntry("home-user", "/", USER),
    PageEntry("login", "/login/"),
    PageEntry("login-refused", "/login/nothing/callback/", status=400),
    PageEntry("home-search", "/?q=kenya", USER),
    PageEntry("home-search-none", "/?q=zzzz", USER, like="home-search"),
    PageEntry("account", "/account/", USER),
    PageEntry("account-record", "/api/v2/account/", USER),
    PageEntry("account-tokens", "/api/v2/account/tokens/", USER),
    PageEntry("account-sessions", "/api/v2/account/sessions/", USER, like="account-tokens"),
    PageEntry("service-accounts", "/api/v2/service-accounts/", USER),
    PageEntry("service-account", "/api/v2/service-accounts/wash_sync/", USER),
    PageEntry(
        "service-account-tokens",
        "/api/v2/service-accounts/wash_sync/tokens/",
        USER,
        like="account-tokens",
    ),
    PageEntry("account-identities", "/api/v2/account/identities/", USER, like="account-tokens"),
    PageEntry("invitation", "{invitation}"),
    PageEntry("invitation-used", "/invitation/nothing/", status=404, like="error-not-found"),
    PageEntry("endpoints", "/api/v2/"),
    PageEntry("swagger", "/api-docs/swagger-ui/", is_external=True),
    PageEntry("guide", "/docs/guide/", like="recipes"),
    PageEntry("recipes", "/docs/recipes/"),
    PageEntry("permissions", _PERMISSIONS),
    PageEntry("permission", f"{_PERMISSIONS}manage_asset/"),
    PageEntry(
        "permission-effects", f"{_PERMISSIONS}view_submissions/effects/?held=partial_submissions"
    ),
    PageEntry(
        "permissions-what-if",
        f"{_PERMISSIONS}?view_submissions=assign&partial_submissions=held",
        like="permissions",
    ),
    PageEntry("permissions-what-if-result", f"{_PERMISSIONS}effects/?assign=view_submissions"),
    PageEntry("events", _EVENTS),
    PageEntry("events-summary", f"{_EVENTS}summary/?regions__in=0"),
    PageEntry("events-mini", f"{_EVENTS}mini/"),
    PageEntry("events-filtered", f"{_EVENTS}?regions__in=0&dtype=12", like="events"),
    PageEntry("events-none", f"{_EVENTS}?search=zzzz", like="events"),
    PageEntry("event", "{event}", USER),
    PageEntry("event-demo", "{demo_event}", like="event"),
    PageEntry("countries", "/api/v2/country/"),
    PageEntry("country", "/api/v2/country/93/"),
    PageEntry("regions", "/api/v2/region/"),
    PageEntry("region", "/api/v2/region/0/"),
    PageEntry("disaster-types", "/api/v2/disaster_type/"),
    PageEntry("disaster-type", "/api/v2/disaster_type/12/"),
    PageEntry("events-deleted", f"{_EVENTS}deleted/"),
    PageEntry("forms", "/api/v2/assets/", USER),
    PageEntry("forms-anonymous", "/api/v2/assets/", like="forms"),
    PageEntry("forms-colleague", "/api/v2/assets/", COLLEAGUE, like="forms"),
    PageEntry("forms-none", "/api/v2/assets/?q=zzzz", USER, like="forms"),
    PageEntry("forms-deleted", "/api/v2/assets/deleted/", USER),
    PageEntry("forms-deleted-all", "/api/v2/assets/deleted/", SUPERUSER, like="forms-deleted"),
    PageEntry("forms-deleted-none", "/api/v2/assets/deleted/", COLLEAGUE, like="forms-deleted"),
    PageEntry("form", "{form}", USER),
    PageEntry("form-colleague", "{form}", COLLEAGUE, like="form"),
    PageEntry("form-public", "{form}", like="form"),
    PageEntry("form-large", "{large_form}", USER, like="form"),
    PageEntry("form-with-warnings", "{other_form}", USER, like="form"),
    PageEntry("form-empty", "{empty_form}", USER, like="form"),
    PageEntry("collection", "{collection}", USER),
    PageEntry("questions", "{form}questions/", USER),
    PageEntry("version-diff", "{newest_version}diff/", USER),
    PageEntry("version-warnings", "{newest_version}warnings/", USER),
    PageEntry("versions", "{form}versions/", USER),
    PageEntry("version", "{oldest_version}", USER),
    PageEntry("access-review", "/api/v2/permission-assignments/", USER),
    PageEntry("sharing", "{form}permission-assignments/", USER),
    PageEntry("sharing-colleague", "{form}permission-assignments/", COLLEAGUE, like="sharing"),
    PageEntry("sharing-change", "{form}permission-assignments/?change=omar", USER),
    PageEntry(
        "sharing-remove", "{form}permission-assignments/?remove=omar", USER, like="sharing-change"
    ),
    PageEntry(
        "sharing-leave", "{form}permission-assignments/?leave=1", COLLEAGUE, like="sharing-change"
    ),
    PageEntry("sharing-collection", "{collection}permission-assignments/", USER, like="sharing"),
    PageEntry("sharing-history", "{form}permission-assignments/history/", USER),
    PageEntry("form-history", "{form}history/", USER),
    PageEntry(
        "sharing-why", "{form}permission-assignments/explain/?user=omar&permission=view_asset", USER
    ),
    PageEntry("assignment", "{assignment}", USER),
    PageEntry(
        "sharing-remove-member",
        "{form}permission-assignments/?remove=lucia",
        USER,
        like="sharing-change",
    ),
    PageEntry(
        "sharing-why-team",
        "{form}permission-assignments/explain/?user=lucia&permission=view_submissions",
        USER,
        like="sharing-why",
    ),
    PageEntry("teams", "/api/v2/teams/", USER),
    PageEntry("team", "{team}", USER),
    PageEntry("team-colleague", "{team}", COLLEAGUE, like="team"),
    PageEntry("team-delete", "{team}?delete=1", USER, like="team"),
    PageEntry("team-members", "{team}members/", USER),
    PageEntry("team-member", "{team}members/lucia/", USER),
    PageEntry("team-forms", "{team}assets/", USER),
    PageEntry("imports", "/api/v2/imports/", USER),
    PageEntry("imports-none", "/api/v2/imports/", COLLEAGUE, like="imports"),
    PageEntry("imports-anonymous", "/api/v2/imports/", like="imports"),
    PageEntry(
        "imports-new-version", "/api/v2/imports/?destination={form_uid}", USER, like="imports"
    ),
    PageEntry("import-complete", "{complete_import}", USER, like="import-problems"),
    PageEntry("import-problems", "{import_with_problems}", USER),
    PageEntry("import-warnings", "{import_with_warnings}", USER, like="import-problems"),
    PageEntry("import-hostile", "{hostile_import}", USER, like="import-problems"),
    PageEntry("import-exists", "{import_of_existing_form}", USER, like="import-problems"),
    PageEntry("users", "/api/v2/users/", SUPERUSER),
    PageEntry("user", "/api/v2/users/omar/", SUPERUSER),
    PageEntry("user-tokens", "/api/v2/users/omar/tokens/", SUPERUSER, like="account-tokens"),
    PageEntry("user-sessions", "/api/v2/users/omar/sessions/", SUPERUSER, like="account-tokens"),
    PageEntry("log", "/api/v2/audit-logs/", SUPERUSER),
    PageEntry("log-filtered", '/api/v2/audit-logs/?q=action:"create"', SUPERUSER, like="log"),
    PageEntry("log-none", "/api/v2/audit-logs/?q=action:nothing", SUPERUSER, like="log"),
    PageEntry("log-forms", "/api/v2/project-history-logs/", SUPERUSER, like="log"),
    PageEntry("log-logins", "/api/v2/access-logs/", SUPERUSER, like="log"),
    PageEntry("my-logins", "/api/v2/access-logs/me/", USER),
    PageEntry("user-public", "/api/v2/users/amina/", USER, like="user"),
    PageEntry("error-not-found", "/api/v2/assets/nothing/", status=404),
    PageEntry("error-no-page", "/nothing/", status=404, like="error-not-found"),
    PageEntry("error-login-needed", "/account/", status=401),
    PageEntry("error-bad-filter", f"{_EVENTS}?dtype=x", status=400, like="error-not-found"),
)
