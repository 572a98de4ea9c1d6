"""Tables of the peer. What lists filter and order by has an index. Texts are in English."""

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

PUBLIC = 3
# Counts of people in a field report: of the National Society, the government and others.
COUNTS = (
    "injured",
    "dead",
    "missing",
    "affected",
    "displaced",
    "assisted",
    "potentially_affected",
    "highest_risk",
)


def add_columns(table: Any, field: Any, names: str) -> None:
    """Add columns of one kind that may be null."""
    for name in names.split():
        table.add_to_class(name, field(null=True))


class Country(models.Model):
    record_type = models.SmallIntegerField(choices=[(1, "Country")])
    region = models.SmallIntegerField(null=True, db_index=True)

    class Meta:
        ordering = ("name",)


add_columns(
    Country,
    models.TextField,
    "iso iso3 fdrs society_name name translation_module_original_language",
)
add_columns(Country, models.BooleanField, "independent is_deprecated")
add_columns(Country, models.FloatField, "average_household_size")


class DisasterType(models.Model):
    pass


add_columns(DisasterType, models.TextField, "name summary translation_module_original_language")


class Event(models.Model):
    dtype = models.ForeignKey(DisasterType, null=True, on_delete=models.PROTECT)
    countries = models.ManyToManyField(Country)
    ifrc_severity_level = models.SmallIntegerField(
        choices=[(0, "Yellow"), (1, "Orange"), (2, "Red")]
    )
    disaster_start_date = models.DateTimeField()
    parent_event = models.ForeignKey("self", null=True, on_delete=models.SET_NULL)
    visibility = models.SmallIntegerField()

    class Meta:
        ordering = ("-disaster_start_date", "id")
        indexes = (
            models.Index(
                fields=["visibility", "parent_event", "-disaster_start_date", "id"], name="listed"
            ),
        )


add_columns(
    Event,
    models.TextField,
    "name summary slug glide auto_generated_source emergency_response_contact_email",
)
add_columns(
    Event,
    models.TextField,
    "tab_one_title tab_two_title tab_three_title translation_module_original_language",
)
add_columns(Event, models.IntegerField, "num_affected active_deployments")
add_columns(Event, models.DateTimeField, "ifrc_severity_level_update_date created_at updated_at")
add_columns(Event, models.BooleanField, "auto_generated is_featured is_featured_region")


class Appeal(models.Model):
    event = models.ForeignKey(Event, related_name="appeals", on_delete=models.CASCADE)
    status = models.SmallIntegerField(
        choices=list(enumerate(["Active", "Closed", "Frozen", "Archived"]))
    )
    atype = models.SmallIntegerField(
        choices=list(
            enumerate(["DREF", "Emergency Appeal", "International Appeal", "Forecast Based Action"])
        )
    )

    class Meta:
        ordering = ("-start_date", "-end_date", "id")


add_columns(Appeal, models.TextField, "aid code sector translation_module_original_language")
add_columns(Appeal, models.FloatField, "amount_requested amount_funded")
add_columns(Appeal, models.IntegerField, "num_beneficiaries")
add_columns(Appeal, models.DateTimeField, "start_date end_date")


class FieldReport(models.Model):
    no_contacts = ()  # they are for callers who are logged in, and none is measured
    event = models.ForeignKey(Event, related_name="field_reports", on_delete=models.CASCADE)
    countries = models.ManyToManyField(Country)
    visibility = models.SmallIntegerField(
        choices=[(1, "RCRC Movement"), (2, "IFRC Secretariat"), (3, "Public"), (4, "IFRC and NS")]
    )
    epi_figures_source = models.SmallIntegerField(
        null=True, choices=list(enumerate(["Ministry of health", "WHO", "OTHER"]))
    )

    class Meta:
        ordering = ("-created_at", "-id")


for source in ("", "gov_", "other_"):
    add_columns(
        FieldReport, models.IntegerField, " ".join(f"{source}num_{what}" for what in COUNTS)
    )
    add_columns(FieldReport, models.TextField, f"{source}affected_pop_centres")
add_columns(
    FieldReport,
    models.IntegerField,
    "status num_localstaff num_volunteers num_expats_delegates recent_affected",
)
add_columns(
    FieldReport,
    models.IntegerField,
    "epi_cases epi_suspected_cases epi_probable_cases epi_confirmed_cases",
)
add_columns(
    FieldReport,
    models.IntegerField,
    "epi_num_dead epi_cases_since_last_fr epi_deaths_since_last_fr",
)
add_columns(
    FieldReport, models.TextField, "epi_notes_since_last_fr notes_health notes_ns notes_socioeco"
)
add_columns(
    FieldReport, models.TextField, "summary description translation_module_original_language"
)
add_columns(
    FieldReport, models.BooleanField, "is_covid_report request_assistance ns_request_assistance"
)
add_columns(FieldReport, models.DateTimeField, "created_at updated_at report_date")


def new_uid() -> str:
    return secrets.token_urlsafe(17)[:22]


class Asset(models.Model):
    uid = models.CharField(max_length=22, unique=True)


class Assignment(models.Model):
    uid = models.CharField(max_length=22, unique=True, default=new_uid)
    asset = models.ForeignKey(Asset, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    permission = models.CharField(max_length=30)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["asset", "user", "permission"], name="once"),
        )


class Import(models.Model):
    """An imported file. It is kept in the row, because the framework's own storage of files does not sync them."""

    uid = models.CharField(max_length=22, unique=True, default=new_uid)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    status = models.CharField(max_length=10, default="processing")
    messages = models.JSONField(default=dict)
    filename = models.CharField(max_length=255)
    data = models.BinaryField()
    library = models.BooleanField(default=False)
    desired_type = models.CharField(max_length=20, null=True)
    date_created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("date_created", "uid")
        indexes = (models.Index(fields=["user", "date_created", "uid"], name="of_user"),)
