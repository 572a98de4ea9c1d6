# mypy: disable-error-code="import-not-found"
"""The routes of the interface."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework.routers import DefaultRouter, SimpleRouter

from benchmarks.peer.assignment_views import AssignmentViewSet
from benchmarks.peer.event_views import EventViewSet
from benchmarks.peer.import_views import ImportViewSet
from benchmarks.peer.views import PermissionViewSet

router = DefaultRouter() if settings.IS_BROWSABLE else SimpleRouter()  # the default one has a start page
router.register("permissions", PermissionViewSet, basename="permission")
router.register("imports", ImportViewSet, basename="import")
router.register("event", EventViewSet, basename="event")

ASSIGNMENTS = "api/v2/assets/<str:asset_uid>/permission-assignments/"


def user_page(_request: HttpRequest, **_: str) -> HttpResponse:
    """Users are only linked to."""
    raise Http404


urlpatterns = [
    path("api/v2/", include(router.urls)),
    path(ASSIGNMENTS, AssignmentViewSet.as_view({"get": "list", "post": "create"})),
    path(f"{ASSIGNMENTS}<str:uid>/", AssignmentViewSet.as_view({"get": "retrieve"}), name="assignment-detail"),
    path("api/v2/users/<str:username>/", user_page, name="user-detail"),
]
