"""The account page: tokens, sessions and password."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {}
FORMS: dict[FormKey, PageForm] = {}
