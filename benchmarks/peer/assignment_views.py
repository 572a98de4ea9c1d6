# mypy: disable-error-code="import-not-found, misc, no-any-return"
"""Permission assignments of an asset: the list, and assigning one permission with those that it implies."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.viewsets import GenericViewSet

from benchmarks.peer.catalogue import PERMISSIONS
from benchmarks.peer.models import Asset, Assignment

LABELS = {
    "add_submissions": "Add submissions",
    "change_asset": "Edit form",
    "change_submissions": "Edit submissions",
    "delete_submissions": "Delete submissions",
    "discover_asset": "Discover form",
    "manage_asset": "Manage project",
    "partial_submissions": "View submissions only from specific users",
    "validate_submissions": "Validate submissions",
    "view_asset": "View form",
    "view_submissions": "View submissions",
}


def _last_part(link: str) -> str:
    return urlsplit(link).path.rstrip("/").rpartition("/")[2]


class AssignmentSerializer(serializers.Serializer):
    url = serializers.SerializerMethodField()
    user = serializers.SerializerMethodField()
    permission = serializers.SerializerMethodField()
    label = serializers.SerializerMethodField()

    def get_url(self, assignment: Assignment) -> str:
        kwargs = {"asset_uid": self.context["asset"].uid, "uid": assignment.uid}
        return reverse("assignment-detail", kwargs=kwargs, request=self.context["request"])

    def get_user(self, assignment: Assignment) -> str:
        kwargs = {"username": assignment.user.username}
        return reverse("user-detail", kwargs=kwargs, request=self.context["request"])

    def get_permission(self, assignment: Assignment) -> str:
        kwargs = {"codename": assignment.permission}
        return reverse("permission-detail", kwargs=kwargs, request=self.context["request"])

    def get_label(self, assignment: Assignment) -> str:
        return LABELS[assignment.permission]


class AssignmentRequestSerializer(serializers.Serializer):
    user = serializers.CharField()
    permission = serializers.CharField()

    def validate_user(self, link: str) -> Any:
        try:
            return User.objects.get(username=_last_part(link))
        except User.DoesNotExist as error:
            raise serializers.ValidationError("There is no such user.") from error

    def validate_permission(self, link: str) -> str:
        codename = _last_part(link)
        if codename not in PERMISSIONS:
            raise serializers.ValidationError("There is no such permission.")
        return codename


class AssignmentViewSet(GenericViewSet):
    serializer_class = AssignmentSerializer

    def get_queryset(self) -> QuerySet[Assignment]:
        return Assignment.objects.filter(asset=self.asset).select_related("user")

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "asset": self.asset}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Find the asset, and what the caller may do with it."""
        super().initial(request, *args, **kwargs)
        try:
            self.asset = Asset.objects.get(uid=kwargs["asset_uid"])
        except Asset.DoesNotExist as error:
            raise Http404 from error
        held = Assignment.objects.filter(asset=self.asset, user=request.user.id)
        self.held = set(held.values_list("permission", flat=True))
        if "view_asset" not in self.held:
            raise Http404

    def list(self, _request: Request, **_: str) -> Response:
        return Response(self.get_serializer(self.get_queryset(), many=True).data)

    def retrieve(self, _request: Request, uid: str, **_: str) -> Response:
        try:
            return Response(self.get_serializer(self.get_queryset().get(uid=uid)).data)
        except Assignment.DoesNotExist as error:
            raise Http404 from error

    def create(self, request: Request, **_: str) -> Response:
        if "manage_asset" not in self.held:
            raise PermissionDenied
        asked = AssignmentRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        assignment = self._assign(**asked.validated_data)
        record = self.get_serializer(assignment).data
        return Response(record, status.HTTP_201_CREATED, headers={"Location": record["url"]})

    def _assign(self, user: Any, permission: str) -> Assignment:
        """Assign a permission and all that it implies, and remove what contradicts them."""
        granted = {permission, *(each.codename for each in PERMISSIONS[permission].implied)}
        removed = {other.codename for each in granted for other in PERMISSIONS[each].contradictory}
        with transaction.atomic():
            present = {each.permission: each for each in Assignment.objects.filter(asset=self.asset, user=user)}
            if removed & present.keys():
                Assignment.objects.filter(asset=self.asset, user=user, permission__in=removed).delete()
            missing = sorted(granted - present.keys())
            made = Assignment.objects.bulk_create(
                Assignment(asset=self.asset, user=user, permission=each) for each in missing
            )
        return next((each for each in made if each.permission == permission), present.get(permission))
