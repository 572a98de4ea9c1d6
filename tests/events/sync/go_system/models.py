"""Tables."""

from django.conf import settings
from django.db import models

PUBLIC = 3
CODES = [code for code, _ in settings.LANGUAGES]


def translated(model: type[models.Model], *names: str) -> type[models.Model]:
    """Add a column for each language, as modeltranslation does."""
    for name in names:
        for code in CODES:
            model.add_to_class(f"{name}_{code}", models.TextField(null=True))
    column = models.TextField(default="en")
    model.add_to_class("translation_module_original_language", column)
    return model


class Country(models.Model):
    iso = models.TextField(null=True)
    iso3 = models.TextField(null=True)
    record_type = models.IntegerField(choices=[(1, "Country"), (2, "Cluster")], default=1)
    region = models.IntegerField(null=True)
    independent = models.BooleanField(null=True, default=True)
    is_deprecated = models.BooleanField(default=False)
    fdrs = models.TextField(null=True)
    average_household_size = models.DecimalField(max_digits=5, decimal_places=2, null=True)


class DisasterType(models.Model):
    pass


class Event(models.Model):
    dtype = models.ForeignKey(DisasterType, null=True, on_delete=models.PROTECT)
    countries = models.ManyToManyField(Country)
    num_affected = models.IntegerField(null=True)
    ifrc_severity_level = models.IntegerField(
        choices=[(0, "Yellow"), (1, "Orange"), (2, "Red")], default=0
    )
    ifrc_severity_level_update_date = models.DateTimeField(null=True)
    glide = models.CharField(max_length=18, default="")
    disaster_start_date = models.DateTimeField()
    created_at = models.DateTimeField()
    auto_generated = models.BooleanField(default=False)
    appeals = models.JSONField(default=list)
    is_featured = models.BooleanField(default=False)
    is_featured_region = models.BooleanField(default=False)
    field_reports = models.JSONField(default=list)
    updated_at = models.DateTimeField()
    slug = models.CharField(max_length=50, null=True, unique=True)
    parent_event = models.ForeignKey("self", null=True, on_delete=models.SET_NULL)
    tab_one_title = models.TextField(default="Additional Information")
    tab_two_title = models.TextField(null=True)
    tab_three_title = models.TextField(null=True)
    emergency_response_contact_email = models.TextField(null=True)
    active_deployments = models.IntegerField(default=0)
    districts = models.JSONField(default=list)
    contacts = models.JSONField(default=list)
    key_figures = models.JSONField(default=list)
    hide_attached_field_reports = models.BooleanField(default=False)
    hide_field_report_map = models.BooleanField(default=False)
    featured_documents = models.JSONField(default=list)
    links = models.JSONField(default=list)
    countries_for_preview = models.ManyToManyField(Country, related_name="previewed")
    response_activity_count = models.IntegerField(default=0)
    visibility = models.IntegerField(default=1)
    auto_generated_source = models.TextField(null=True)


translated(Country, "name", "society_name")
translated(DisasterType, "name", "summary")
translated(Event, "name", "summary")
