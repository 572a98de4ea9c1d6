"""Pages of permissions."""

from fieldgate.web.page_views import FormKey, PageForm, PageView

PAGES: dict[str, PageView] = {"permission_effects": PageView("effects.html")}
FORMS: dict[FormKey, PageForm] = {}
