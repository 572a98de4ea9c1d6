"""Versions of a form, and what differs between them."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {}
FORMS: dict[FormKey, PageForm] = {}
