"""Pages of imports."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {"import_detail": PageView("import.html")}
FORMS: dict[FormKey, PageForm] = {}
