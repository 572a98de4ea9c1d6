"""The pages of resources, by subject. Each module declares `PAGES`, and `FORMS` if its pages have any."""

from fieldgate.web.page_views import FormKey, PageForm, PageView
from fieldgate.web.pages import (
    account,
    assets,
    event_detail,
    events,
    home,
    imports,
    log,
    ownership,
    permissions,
    reference,
    review,
    service_accounts,
    sharing,
    teams,
    trash,
    users,
    versions,
)

_MODULES = (
    account, assets, event_detail, events, home, imports, log, ownership, permissions, reference, review,
    service_accounts, sharing, teams, trash, users, versions,
)  # fmt: skip

PAGES: dict[str, PageView] = {name: view for module in _MODULES for name, view in module.PAGES.items()}
FORMS: dict[FormKey, PageForm] = {
    key: form for module in _MODULES for key, form in getattr(module, "FORMS", {}).items()
}
