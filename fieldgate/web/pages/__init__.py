"""The pages of resources, by subject. Each module declares its own with `Pages`."""

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
    sharing_forms,
    sharing_history,
    teams,
    trash,
    users,
    versions,
)

_MODULES = (
    account, assets, event_detail, events, home, imports, log, ownership, permissions, reference, review,
    service_accounts, sharing, sharing_forms, sharing_history, teams, trash, users, versions,
)  # fmt: skip

PAGES = {name: view for module in _MODULES for name, view in module.pages.views.items()}
FORMS = {key: form for module in _MODULES for key, form in module.pages.forms.items()}
