"""The page of one event."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {}
FORMS: dict[FormKey, PageForm] = {}
