# mypy: disable-error-code="import-not-found"
"""The routes of the interface."""

from django.conf import settings
from django.urls import include, path
from rest_framework.routers import DefaultRouter, SimpleRouter

from benchmarks.peer.event_views import EventViewSet
from benchmarks.peer.import_views import ImportViewSet
from benchmarks.peer.views import PermissionViewSet

router = DefaultRouter() if settings.IS_BROWSABLE else SimpleRouter()  # the default one has a start page
router.register("permissions", PermissionViewSet, basename="permission")
router.register("imports", ImportViewSet, basename="import")
router.register("event", EventViewSet, basename="event")

urlpatterns = [path("api/v2/", include(router.urls))]
