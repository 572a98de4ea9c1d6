# mypy: disable-error-code="import-not-found, misc"
"""Events and what belongs to them, and imports: what lists filter and order by has an index. Texts are in English."""

import secrets

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

PUBLIC = 3


class Country(models.Model):
    """A country; `sorting_name` is its name without accents and capitals."""

    iso = models.CharField(max_length=2, null=True)
    iso3 = models.CharField(max_length=3, null=True)
    record_type = models.SmallIntegerField(choices=[(1, _("Country"))])
    region = models.SmallIntegerField(null=True, db_index=True)
    independent = models.BooleanField(null=True)
    is_deprecated = models.BooleanField()
    fdrs = models.CharField(max_length=6, null=True)
    average_household_size = models.FloatField(null=True)
    society_name = models.TextField()
    name = models.CharField(max_length=100)
    sorting_name = models.CharField(max_length=100)
    translation_module_original_language = models.CharField(max_length=2)

    class Meta:
        ordering = ("sorting_name",)


class DisasterType(models.Model):
    name = models.CharField(max_length=100)
    summary = models.TextField()
    translation_module_original_language = models.CharField(max_length=2)


class District(models.Model):
    name = models.CharField(max_length=100)
    code = models.CharField(max_length=10)
    is_enclave = models.BooleanField()
    is_deprecated = models.BooleanField()

    class Meta:
        ordering = ("code", "id")


class Event(models.Model):
    dtype = models.ForeignKey(DisasterType, null=True, on_delete=models.PROTECT)
    countries = models.ManyToManyField(Country)
    districts = models.ManyToManyField(District)
    num_affected = models.IntegerField(null=True)
    ifrc_severity_level = models.SmallIntegerField(choices=[(0, _("Yellow")), (1, _("Orange")), (2, _("Red"))])
    ifrc_severity_level_update_date = models.DateTimeField(null=True)
    glide = models.CharField(max_length=18)
    disaster_start_date = models.DateTimeField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    auto_generated = models.BooleanField()
    auto_generated_source = models.CharField(max_length=50, null=True)
    is_featured = models.BooleanField()
    is_featured_region = models.BooleanField()
    slug = models.CharField(max_length=50, null=True, unique=True)
    parent_event = models.ForeignKey("self", null=True, on_delete=models.SET_NULL)
    visibility = models.SmallIntegerField()
    tab_one_title = models.CharField(max_length=50)
    tab_two_title = models.CharField(max_length=50, null=True)
    tab_three_title = models.CharField(max_length=50, null=True)
    emergency_response_contact_email = models.CharField(max_length=255, null=True)
    active_deployments = models.IntegerField()
    summary = models.TextField()
    name = models.CharField(max_length=256)
    translation_module_original_language = models.CharField(max_length=2)
    hide_attached_field_reports = models.BooleanField()
    hide_field_report_map = models.BooleanField()
    response_activity_count = models.IntegerField()

    class Meta:
        ordering = ("-disaster_start_date", "id")
        indexes = (models.Index(fields=["visibility", "parent_event", "-disaster_start_date", "id"], name="listed"),)


class Appeal(models.Model):
    event = models.ForeignKey(Event, related_name="appeals", on_delete=models.CASCADE)
    aid = models.CharField(max_length=20)
    num_beneficiaries = models.IntegerField()
    amount_requested = models.FloatField()
    code = models.CharField(max_length=20, null=True)
    amount_funded = models.FloatField()
    status = models.SmallIntegerField(
        choices=[(0, _("Active")), (1, _("Closed")), (2, _("Frozen")), (3, _("Archived"))]
    )
    start_date = models.DateTimeField(null=True)
    end_date = models.DateTimeField(null=True)
    sector = models.CharField(max_length=100)
    atype = models.SmallIntegerField(
        choices=[
            (0, _("DREF")),
            (1, _("Emergency Appeal")),
            (2, _("International Appeal")),
            (3, _("Forecast Based Action")),
        ]
    )
    translation_module_original_language = models.CharField(max_length=2)

    class Meta:
        ordering = ("-start_date", "-end_date", "id")


class FieldReport(models.Model):
    event = models.ForeignKey(Event, related_name="field_reports", on_delete=models.CASCADE)
    status = models.SmallIntegerField()
    is_covid_report = models.BooleanField(null=True)
    visibility = models.SmallIntegerField(
        choices=[(1, _("RCRC Movement")), (2, _("IFRC Secretariat")), (3, _("Public")), (4, _("IFRC and NS"))]
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    report_date = models.DateTimeField(null=True)
    countries = models.ManyToManyField(Country)
    num_injured = models.IntegerField(null=True)
    num_dead = models.IntegerField(null=True)
    num_missing = models.IntegerField(null=True)
    num_affected = models.IntegerField(null=True)
    num_displaced = models.IntegerField(null=True)
    num_assisted = models.IntegerField(null=True)
    num_localstaff = models.IntegerField(null=True)
    num_volunteers = models.IntegerField(null=True)
    num_expats_delegates = models.IntegerField(null=True)
    num_potentially_affected = models.IntegerField(null=True)
    num_highest_risk = models.IntegerField(null=True)
    gov_num_injured = models.IntegerField(null=True)
    gov_num_dead = models.IntegerField(null=True)
    gov_num_missing = models.IntegerField(null=True)
    gov_num_affected = models.IntegerField(null=True)
    gov_num_displaced = models.IntegerField(null=True)
    gov_num_assisted = models.IntegerField(null=True)
    gov_num_potentially_affected = models.IntegerField(null=True)
    gov_num_highest_risk = models.IntegerField(null=True)
    other_num_injured = models.IntegerField(null=True)
    other_num_dead = models.IntegerField(null=True)
    other_num_missing = models.IntegerField(null=True)
    other_num_affected = models.IntegerField(null=True)
    other_num_displaced = models.IntegerField(null=True)
    other_num_assisted = models.IntegerField(null=True)
    other_num_potentially_affected = models.IntegerField(null=True)
    other_num_highest_risk = models.IntegerField(null=True)
    affected_pop_centres = models.CharField(max_length=512, null=True)
    gov_affected_pop_centres = models.CharField(max_length=512, null=True)
    other_affected_pop_centres = models.CharField(max_length=512, null=True)
    epi_cases = models.IntegerField(null=True)
    epi_suspected_cases = models.IntegerField(null=True)
    epi_probable_cases = models.IntegerField(null=True)
    epi_confirmed_cases = models.IntegerField(null=True)
    epi_num_dead = models.IntegerField(null=True)
    epi_figures_source = models.SmallIntegerField(
        null=True, choices=[(0, _("Ministry of health")), (1, _("WHO")), (2, _("OTHER"))]
    )
    epi_cases_since_last_fr = models.IntegerField(null=True)
    epi_deaths_since_last_fr = models.IntegerField(null=True)
    epi_notes_since_last_fr = models.TextField(null=True)
    request_assistance = models.BooleanField(null=True)
    ns_request_assistance = models.BooleanField(null=True)
    notes_health = models.TextField(null=True)
    notes_ns = models.TextField(null=True)
    notes_socioeco = models.TextField(null=True)
    recent_affected = models.SmallIntegerField()
    summary = models.TextField()
    description = models.TextField()
    translation_module_original_language = models.CharField(max_length=2)

    class Meta:
        ordering = ("-created_at", "-id")


class KeyFigure(models.Model):
    event = models.ForeignKey(Event, related_name="key_figures", on_delete=models.CASCADE)
    number = models.CharField(max_length=100)
    source = models.CharField(max_length=256)
    deck = models.CharField(max_length=50)
    translation_module_original_language = models.CharField(max_length=2)

    class Meta:
        ordering = ("id",)


class FeaturedDocument(models.Model):
    event = models.ForeignKey(Event, related_name="featured_documents", on_delete=models.CASCADE)
    title = models.CharField(max_length=100)
    description = models.CharField(max_length=200)
    thumbnail = models.CharField(max_length=255, null=True)
    file = models.CharField(max_length=255, null=True)

    class Meta:
        ordering = ("-id",)


class EventLink(models.Model):
    event = models.ForeignKey(Event, related_name="links", on_delete=models.CASCADE)
    url = models.CharField(max_length=255)
    title = models.CharField(max_length=200)
    description = models.TextField()
    translation_module_original_language = models.CharField(max_length=2)

    class Meta:
        ordering = ("id",)


def new_uid() -> str:
    return "i" + secrets.token_urlsafe(16)[:21]


def new_assignment_uid() -> str:
    return "p" + secrets.token_urlsafe(16)[:21]


class Asset(models.Model):
    uid = models.CharField(max_length=22, unique=True)


class Assignment(models.Model):
    uid = models.CharField(max_length=22, unique=True, default=new_assignment_uid)
    asset = models.ForeignKey(Asset, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    permission = models.CharField(max_length=30)

    class Meta:
        ordering = ("user__username", "permission")
        constraints = (models.UniqueConstraint(fields=["asset", "user", "permission"], name="once"),)


class Import(models.Model):
    """A file that was brought in.

    It is kept in the row: the framework's own storage of files does not sync them, and an answer that a power cut can
    belie would not be the same work as ours.
    """

    uid = models.CharField(max_length=22, unique=True, default=new_uid)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    status = models.CharField(max_length=10, default="processing")
    messages = models.JSONField(default=dict)
    filename = models.CharField(max_length=255)
    data = models.BinaryField()
    name = models.CharField(max_length=255)
    is_library = models.BooleanField(default=False)
    desired_type = models.CharField(max_length=20, blank=True)
    date_created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("date_created", "uid")
        indexes = (models.Index(fields=["user", "date_created", "uid"], name="made_by"),)
