# mypy: disable-error-code="import-not-found, misc, no-any-return"
"""Imports of the caller: the list in pages, one by its uid, and bringing a file in."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers, status
from rest_framework.exceptions import NotAuthenticated
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.viewsets import GenericViewSet

from benchmarks.peer.models import Import

WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how xlsx and xls begin
LARGEST = 10 * 1024 * 1024  # bytes


class ImportSerializer(serializers.ModelSerializer):
    url = serializers.SerializerMethodField()
    destination = serializers.ReadOnlyField(default=None)
    library = serializers.BooleanField(source="is_library")
    desired_type = serializers.SerializerMethodField()

    class Meta:
        model = Import
        fields = (
            "url", "status", "messages", "uid", "date_created", "filename", "destination", "library", "desired_type",
        )  # fmt: skip

    def get_desired_type(self, made: Import) -> str | None:
        return made.desired_type or None

    def get_url(self, made: Import) -> str:
        return reverse("import-detail", kwargs={"uid": made.uid}, request=self.context["request"])


class ImportRequestSerializer(serializers.Serializer):
    file = serializers.FileField()
    name = serializers.CharField(max_length=255, required=False, allow_blank=True, default="")
    library = serializers.BooleanField(required=False, default=False)
    desired_type = serializers.ChoiceField(
        ("survey", "template", "block", "question"), required=False, allow_blank=True, default=""
    )

    def validate_file(self, file: Any) -> Any:
        if file.size > LARGEST:
            raise serializers.ValidationError("The file is too large.")
        if not file.read(4).startswith(WORKBOOKS):
            raise serializers.ValidationError("Send a workbook.")
        file.seek(0)
        return file


class ImportViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet):
    serializer_class = ImportSerializer
    parser_classes = (MultiPartParser, JSONParser)
    lookup_field = "uid"

    def get_queryset(self) -> QuerySet[Import]:
        if self.request.user.is_anonymous:
            return Import.objects.none()
        # The file itself is large, and in no answer.
        return Import.objects.filter(user=self.request.user).only(
            "uid", "status", "messages", "date_created", "filename", "is_library", "desired_type"
        )

    def create(self, request: Request) -> Response:
        if request.user.is_anonymous:
            raise NotAuthenticated
        asked = ImportRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        file = asked.validated_data["file"]
        made = Import.objects.create(
            user=request.user,
            filename=file.name,
            data=file.read(),
            name=asked.validated_data["name"] or file.name,
            is_library=asked.validated_data["library"],
            desired_type=asked.validated_data["desired_type"],
            messages={"updated": []},
        )
        url = reverse("import-detail", kwargs={"uid": made.uid}, request=request)
        return Response(
            {"uid": made.uid, "url": url, "status": made.status}, status.HTTP_201_CREATED, headers={"Location": url}
        )
