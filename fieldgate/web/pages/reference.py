"""Pages of countries, regions and disaster types."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {}
FORMS: dict[FormKey, PageForm] = {}
