"""Pages of permission assignments."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {"assignment_explanation": PageView("explain.html")}
FORMS: dict[FormKey, PageForm] = {}
