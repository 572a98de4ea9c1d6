"""Records as IFRC GO sends them."""

from typing import Any

from django.utils.translation import get_language
from rest_framework import serializers

from tests.events.sync.go_system.models import CODES, Country, DisasterType, Event

AFFECTED = (
    "num_affected", "gov_num_affected", "other_num_affected",
    "num_potentially_affected", "gov_num_potentially_affected", "other_num_potentially_affected",
)  # fmt: skip


def in_active_language(texts: dict[str, str | None]) -> str:
    """The text in the language of the request, or in the first that has one."""
    return next((texts[code] for code in (get_language(), *CODES) if texts.get(code)), "") or ""


def translate_items(items: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Records inside an event, whose translated fields are objects by language."""
    return [{**item, **{name: in_active_language(item[name]) for name in names}} for item in items]


class TranslatedSerializer(serializers.ModelSerializer):
    """Translated fields come after all others, then the language in which the record was written."""

    translated = ("name", "summary")

    def to_representation(self, row: Any) -> dict[str, Any]:
        record: dict[str, Any] = super().to_representation(row)
        for name in self.translated:
            texts = {code: getattr(row, f"{name}_{code}") for code in CODES}
            record[name] = in_active_language(texts)
        name = "translation_module_original_language"
        return {**record, name: getattr(row, name)}


class DisasterTypeSerializer(TranslatedSerializer):
    class Meta:
        model = DisasterType
        fields = ("id",)


class MiniCountrySerializer(TranslatedSerializer):
    translated = ("name", "society_name")
    record_type_display = serializers.CharField(source="get_record_type_display")

    class Meta:
        model = Country
        fields = (
            "iso", "iso3", "id", "record_type", "record_type_display", "region", "independent", "is_deprecated",
            "fdrs", "average_household_size",
        )  # fmt: skip


class CountrySerializer(MiniCountrySerializer):
    """A record of the list of countries: with a profile, and without the size of households."""

    inform_score = serializers.ReadOnlyField(default="6.40")
    centroid = serializers.ReadOnlyField(default={"type": "Point", "coordinates": [84.0, 28.2]})
    links = serializers.ReadOnlyField(default=[])

    class Meta:
        model = Country
        fields = (
            "iso", "iso3", "region", "inform_score", "id", "record_type", "record_type_display", "centroid",
            "independent", "is_deprecated", "fdrs", "links",
        )  # fmt: skip


class EventSerializer(TranslatedSerializer):
    """A record of the list."""

    dtype = DisasterTypeSerializer()
    countries = serializers.SerializerMethodField()
    field_reports = serializers.SerializerMethodField()
    ifrc_severity_level_display = serializers.CharField(source="get_ifrc_severity_level_display")

    class Meta:
        model = Event
        fields: tuple[str, ...] = (
            "dtype", "countries", "num_affected", "ifrc_severity_level", "ifrc_severity_level_display",
            "ifrc_severity_level_update_date", "glide", "disaster_start_date", "created_at", "auto_generated",
            "appeals", "is_featured", "is_featured_region", "field_reports", "updated_at", "id", "slug",
            "parent_event", "tab_one_title", "tab_two_title", "tab_three_title",
            "emergency_response_contact_email", "active_deployments",
        )  # fmt: skip

    def get_countries(self, event: Event) -> list[dict[str, Any]]:
        records = MiniCountrySerializer(event.countries.all(), many=True).data
        return sorted(records, key=lambda record: str(record["name"]))

    def get_field_reports(self, event: Event) -> list[dict[str, Any]]:
        return translate_items(event.field_reports, "summary", "description")


class EventDetailSerializer(EventSerializer):
    dtype = serializers.PrimaryKeyRelatedField(read_only=True)
    key_figures = serializers.SerializerMethodField()
    links = serializers.SerializerMethodField()
    countries_for_preview = MiniCountrySerializer(many=True)

    class Meta(EventSerializer.Meta):
        fields = (
            *EventSerializer.Meta.fields, "districts", "contacts", "key_figures", "hide_attached_field_reports",
            "hide_field_report_map", "featured_documents", "links", "countries_for_preview",
            "response_activity_count", "visibility",
        )  # fmt: skip

    def get_key_figures(self, event: Event) -> list[dict[str, Any]]:
        return translate_items(event.key_figures, "deck")

    def get_links(self, event: Event) -> list[dict[str, Any]]:
        return translate_items(event.links, "title", "description")

    def get_field_reports(self, event: Event) -> list[dict[str, Any]]:
        """Of the six figures of affected people only the current one is shown, and not which one it is."""
        reports = super().get_field_reports(event)
        for report in reports:
            current = report.pop("recent_affected")
            for number, name in enumerate(AFFECTED, start=1):
                if number != current:
                    report.pop(name, None)
        return reports


class MiniEventSerializer(TranslatedSerializer):
    translated = ("name",)
    dtype = DisasterTypeSerializer()
    countries_for_preview = MiniCountrySerializer(many=True)

    class Meta:
        model = Event
        fields = (
            "id", "slug", "dtype", "auto_generated_source", "emergency_response_contact_email",
            "countries_for_preview",
        )  # fmt: skip
