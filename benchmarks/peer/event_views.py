# mypy: disable-error-code="import-not-found, misc, no-any-return"
"""Reading events: lists with the filters that are measured, as JSON or CSV, and one event by its id."""

from typing import Any

from django.conf import settings
from django.db.models import Prefetch, QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import BrowsableAPIRenderer, JSONRenderer
from rest_framework.viewsets import ReadOnlyModelViewSet

from benchmarks.peer.event_serializers import EventAloneSerializer, EventRowSerializer, EventSerializer
from benchmarks.peer.models import PUBLIC, Event, FieldReport
from benchmarks.peer.renderers import CSVRenderer


class EventViewSet(ReadOnlyModelViewSet):
    renderer_classes = (JSONRenderer, CSVRenderer, *((BrowsableAPIRenderer,) if settings.IS_BROWSABLE else ()))

    def get_serializer_class(self) -> Any:
        if self.action == "retrieve":
            return EventAloneSerializer
        return EventRowSerializer if self._is_csv else EventSerializer

    def get_queryset(self) -> QuerySet[Event]:
        reports = FieldReport.objects.filter(visibility=PUBLIC)
        events = Event.objects.filter(visibility=PUBLIC)
        if self.action == "retrieve":
            more = ("districts", "key_figures", "featured_documents", "links")
            return events.prefetch_related("countries", "appeals", _with_countries(reports), *more)
        events = events.filter(parent_event=None).select_related("dtype")
        if self._is_csv:
            numbers = Prefetch("field_reports", reports.only("id", "event_id", "created_at"))
            return events.prefetch_related("countries", "appeals", numbers)
        return events.prefetch_related("countries", "appeals", _with_countries(reports))

    def filter_queryset(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """Each filter is a subquery of its own: an event of several countries is found once, without DISTINCT."""
        links = Event.countries.through.objects
        if countries := self._numbers("countries__in"):
            events = events.filter(pk__in=links.filter(country_id__in=countries).values("event_id"))
        if regions := self._numbers("regions__in"):
            events = events.filter(pk__in=links.filter(country__region__in=regions).values("event_id"))
        return events

    def _numbers(self, name: str) -> list[int]:
        asked = self.request.query_params.get(name, "")
        try:
            return [int(each) for each in asked.split(",") if each]
        except ValueError as wrong:
            raise ValidationError({name: "Enter whole numbers separated by commas."}) from wrong

    @property
    def _is_csv(self) -> bool:
        return self.request.accepted_renderer.format == "csv"


def _with_countries(reports: QuerySet[FieldReport]) -> Prefetch:
    return Prefetch("field_reports", reports.prefetch_related("countries"))
