"""Views and routes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.forms import DecimalField, ValidationError
from django.urls import include, path
from django.utils.translation import get_language
from rest_framework.decorators import action
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.filters import OrderingFilter
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import DefaultRouter
from rest_framework.serializers import ModelSerializer
from rest_framework.serializers import ValidationError as InvalidParameter
from rest_framework.views import exception_handler
from rest_framework.viewsets import GenericViewSet, ReadOnlyModelViewSet

from tests.events.sync.go_system.models import PUBLIC, Country, DisasterType, Event
from tests.events.sync.go_system.serializers import (
    CountrySerializer,
    DisasterTypeSerializer,
    EventDetailSerializer,
    EventSerializer,
    MiniEventSerializer,
)


def error_response(error: Exception, context: Any) -> Response | None:
    response = exception_handler(error, context)
    if response is None:
        return None
    code, errors = response.status_code, response.data
    if isinstance(error, AuthenticationFailed):
        code = 4012
    if code == 404:
        errors = {"non_field_errors": ["Resource not found"]}
    elif "detail" in errors:
        errors = {"non_field_errors": [errors["detail"]]}
    response.data = {"timestamp": datetime.now(UTC), "error_code": code, "errors": errors}
    return response


def log_request(get_response: Any) -> Any:
    def respond(request: Any) -> Any:
        with Path(f"{settings.DATABASES['default']['NAME']}.log").open("a") as log:
            log.write(f"{request.get_full_path()}\n")
        return get_response(request)

    return respond


class EventViewSet(ReadOnlyModelViewSet):
    filter_backends = (OrderingFilter,)
    ordering = ("-disaster_start_date", "id")
    ordering_fields = ("disaster_start_date", "created_at", "num_affected", "glide")

    def get_serializer_class(self) -> type[ModelSerializer]:
        kinds = {"retrieve": EventDetailSerializer, "mini": MiniEventSerializer}
        return kinds.get(self.action, EventSerializer)

    def get_queryset(self) -> QuerySet[Event]:
        events = Event.objects.select_related("dtype")
        events = events.prefetch_related("countries", "countries_for_preview")
        if self.request.auth is None:
            events = events.filter(visibility=PUBLIC)
        return events if self.action == "retrieve" else events.filter(parent_event=None)

    def filter_queryset(self, events: QuerySet[Event]) -> QuerySet[Event]:
        value = self.request.query_params.get("id", "")
        if value and self.action != "retrieve":
            try:
                events = events.filter(id=int(DecimalField().clean(value)))
            except ValidationError as error:
                raise InvalidParameter({"id": error.messages}) from None
        return super().filter_queryset(events)

    @action(detail=False)
    def mini(self, request: Request) -> Response:
        return self.list(request)


class NamedViewSet(ListModelMixin, GenericViewSet):
    """Records in the order of their names in the language of the request."""

    def filter_queryset(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.order_by(f"name_{get_language()}")


class CountryViewSet(NamedViewSet):
    serializer_class = CountrySerializer
    queryset = Country.objects.filter(is_deprecated=False)


class DisasterTypeViewSet(NamedViewSet):
    serializer_class = DisasterTypeSerializer
    queryset = DisasterType.objects.all()


router = DefaultRouter()
router.register("event", EventViewSet, basename="event")
router.register("country", CountryViewSet, basename="country")
router.register("disaster_type", DisasterTypeViewSet, basename="disaster_type")
urlpatterns = [path("api/v2/", include(router.urls))]
