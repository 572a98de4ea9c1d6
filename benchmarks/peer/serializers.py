"""Records of the peer as JSON. All that they need was read with the page."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.reverse import reverse

from benchmarks.peer import models

WORKBOOK_SIGNATURES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # of xlsx and xls
MAX_FILE_BYTES = 10 * 1024 * 1024


class LinkSerializer(serializers.Serializer):
    """Adds links. Method fields are faster than the framework's fields for links."""

    def link(self, view: str, **parts: str) -> str:
        return reverse(view, kwargs=parts, request=self.context["request"])


class PermissionSerializer(LinkSerializer):
    """A permission of the catalogue, which is in memory."""

    url = serializers.SerializerMethodField()
    codename = serializers.CharField()
    implied = serializers.SerializerMethodField()
    contradictory = serializers.SerializerMethodField()
    name = serializers.CharField()

    def get_url(self, permission: Mapping[str, Any]) -> str:
        return self.link("permission-detail", codename=permission["codename"])

    def get_implied(self, permission: Mapping[str, Any]) -> list[str]:
        return [self.link("permission-detail", codename=each) for each in permission["implied"]]

    def get_contradictory(self, permission: Mapping[str, Any]) -> list[str]:
        return [
            self.link("permission-detail", codename=each) for each in permission["contradictory"]
        ]


class AssignmentSerializer(LinkSerializer):
    url = serializers.SerializerMethodField()
    user = serializers.SerializerMethodField()
    permission = serializers.SerializerMethodField()
    label = serializers.CharField(source="permission")

    def get_url(self, assignment: models.Assignment) -> str:
        return self.link("assignment-detail", asset_uid=assignment.asset.uid, uid=assignment.uid)

    def get_user(self, assignment: models.Assignment) -> str:
        return self.link("user-detail", username=assignment.user.username)

    def get_permission(self, assignment: models.Assignment) -> str:
        return self.link("permission-detail", codename=assignment.permission)


class AssignmentRequestSerializer(serializers.Serializer):
    user = serializers.CharField()
    permission = serializers.CharField()

    def validate_user(self, link: str) -> User:
        return get_object_or_404(User, username=_last_part(link))

    def validate_permission(self, link: str) -> str:
        if _last_part(link) not in self.context["permissions"]:
            raise serializers.ValidationError("There is no such permission.")
        return _last_part(link)


class ImportSerializer(LinkSerializer, serializers.ModelSerializer):
    url = serializers.SerializerMethodField()
    destination = serializers.ReadOnlyField(default=None)

    class Meta:
        model = models.Import
        fields = (
            "url", "status", "messages", "uid", "date_created", "filename", "destination", "library", "desired_type",
        )  # fmt: skip

    def get_url(self, record: models.Import) -> str:
        return self.link("import-detail", uid=record.uid)


class ImportRequestSerializer(serializers.Serializer):
    file = serializers.FileField()

    def validate_file(self, file: Any) -> Any:
        if file.size > MAX_FILE_BYTES:
            raise serializers.ValidationError("The file is too large.")
        if not file.read(4).startswith(WORKBOOK_SIGNATURES):
            raise serializers.ValidationError("Send a workbook.")
        file.seek(0)
        return file


class LabelField(serializers.Field):
    """The label of a choice. The framework's own field takes a sixth of the time of a page."""

    def __init__(self, choice: str) -> None:
        super().__init__(source="*", read_only=True)
        self._method = f"get_{choice}_display"

    def to_representation(self, record: Any) -> str | None:
        return getattr(record, self._method)()


def _serializer_of(table: Any, **meta: Any) -> Any:
    """A serializer of all fields of a table, except those excluded."""
    options = type("Meta", (), {"model": table, **(meta or {"fields": "__all__"})})
    return type(f"{table.__name__}Serializer", (serializers.ModelSerializer,), {"Meta": options})


DisasterTypeSerializer = _serializer_of(models.DisasterType)


class CountrySerializer(_serializer_of(models.Country)):
    record_type_display = LabelField("record_type")


class AppealSerializer(_serializer_of(models.Appeal, exclude=("event",))):
    status_display = LabelField("status")
    atype_display = LabelField("atype")


class FieldReportSerializer(_serializer_of(models.FieldReport, exclude=("event",))):
    visibility_display = LabelField("visibility")
    epi_figures_source_display = LabelField("epi_figures_source")
    countries = CountrySerializer(many=True)
    contacts = serializers.ListField(source="no_contacts")


class EventSerializer(_serializer_of(models.Event, exclude=("visibility",))):
    dtype = DisasterTypeSerializer()
    countries = CountrySerializer(many=True)
    appeals = AppealSerializer(many=True)
    field_reports = FieldReportSerializer(many=True)
    ifrc_severity_level_display = LabelField("ifrc_severity_level")


def _last_part(link: str) -> str:
    return link.rstrip("/").rpartition("/")[2]
