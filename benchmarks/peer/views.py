"""Views and routes of the peer."""

import json
import os
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework import status
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.mixins import ListModelMixin
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from benchmarks.peer import serializers
from benchmarks.peer.models import PUBLIC, Asset, Assignment, Event, FieldReport, Import

# The catalogue is held in memory, so that it costs the peer no query.
PERMISSIONS: dict[str, dict[str, Any]] = {
    each["codename"]: each for each in json.loads(Path(os.environ["PEER_PERMISSIONS"]).read_bytes())
}


class PermissionViewSet(GenericViewSet):
    serializer_class = serializers.PermissionSerializer

    def list(self, _request: Request) -> Response:
        page = self.paginate_queryset(list(PERMISSIONS.values()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class EventViewSet(ListModelMixin, GenericViewSet):
    serializer_class = serializers.EventSerializer

    def get_queryset(self) -> QuerySet[Event]:
        reports = FieldReport.objects.filter(visibility=PUBLIC).prefetch_related("countries")
        events = Event.objects.filter(visibility=PUBLIC, parent_event=None).select_related("dtype")
        return events.prefetch_related("countries", "appeals", Prefetch("field_reports", reports))

    def filter_queryset(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """Each filter is a subquery, so that an event with several countries is found once, without DISTINCT."""
        links = Event.countries.through.objects
        if countries := self._numbers("countries__in"):
            events = events.filter(pk__in=links.filter(country_id__in=countries).values("event_id"))
        if regions := self._numbers("regions__in"):
            events = events.filter(
                pk__in=links.filter(country__region__in=regions).values("event_id")
            )
        return events

    def _numbers(self, name: str) -> list[int]:
        return [int(each) for each in self.request.query_params.get(name, "").split(",") if each]


class ImportViewSet(ListModelMixin, GenericViewSet):
    serializer_class = serializers.ImportSerializer
    parser_classes = (MultiPartParser,)
    permission_classes = (IsAuthenticated,)

    def get_queryset(self) -> QuerySet[Import]:
        return Import.objects.filter(user=self.request.user).defer("data")

    def create(self, request: Request) -> Response:
        form = serializers.ImportRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        file = form.validated_data["file"]
        created = Import.objects.create(
            user=request.user, filename=file.name, data=file.read(), messages={"updated": []}
        )
        url = reverse("import-detail", kwargs={"uid": created.uid}, request=request)
        record = {"uid": created.uid, "url": url, "status": created.status}
        return Response(record, status.HTTP_201_CREATED, headers={"Location": url})


class AssignmentView(APIView):
    def post(self, request: Request, asset_uid: str) -> Response:
        asset = get_object_or_404(Asset, uid=asset_uid)
        held = Assignment.objects.filter(asset=asset, user=request.user.id).values_list(
            "permission", flat=True
        )
        if "manage_asset" not in set(held):
            raise PermissionDenied
        form = serializers.AssignmentRequestSerializer(
            data=request.data, context={"permissions": PERMISSIONS}
        )
        form.is_valid(raise_exception=True)
        created = _assign(asset, **form.validated_data)
        record = serializers.AssignmentSerializer(created, context={"request": request}).data
        return Response(record, status.HTTP_201_CREATED, headers={"Location": record["url"]})


def _assign(asset: Asset, user: User, permission: str) -> Assignment:
    """Assign a permission and all that it implies, and remove what contradicts them."""
    granted = {permission, *PERMISSIONS[permission]["implied"]}
    removed = {other for each in granted for other in PERMISSIONS[each]["contradictory"]}
    with transaction.atomic():
        present = {
            each.permission: each for each in Assignment.objects.filter(asset=asset, user=user)
        }
        if removed & present.keys():
            Assignment.objects.filter(asset=asset, user=user, permission__in=removed).delete()
        missing = sorted(granted - present.keys())
        created = Assignment.objects.bulk_create(
            Assignment(asset=asset, user=user, permission=each) for each in missing
        )
    return next(
        (each for each in created if each.permission == permission), present.get(permission)
    )


def not_found(_request: HttpRequest, **_: str) -> HttpResponse:
    """Single records are only linked to."""
    raise Http404


API = "api/v2/"
ASSIGNMENTS = f"{API}assets/<str:asset_uid>/permission-assignments/"
router = SimpleRouter()
router.register("permissions", PermissionViewSet, basename="permission")
router.register("imports", ImportViewSet, basename="import")
router.register("event", EventViewSet, basename="event")
urlpatterns = [
    path(API, include(router.urls)),
    path(ASSIGNMENTS, AssignmentView.as_view()),
    path(f"{ASSIGNMENTS}<str:uid>/", not_found, name="assignment-detail"),
    path(f"{API}permissions/<str:codename>/", not_found, name="permission-detail"),
    path(f"{API}imports/<str:uid>/", not_found, name="import-detail"),
    path(f"{API}users/<str:username>/", not_found, name="user-detail"),
]
