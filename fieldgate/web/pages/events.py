"""The list of events: filters, map, timeline and table."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {}
FORMS: dict[FormKey, PageForm] = {}
