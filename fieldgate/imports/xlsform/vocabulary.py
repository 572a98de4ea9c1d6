"""The names an author may write for sheets and columns, and the one name each of them has here."""

SURVEY, CHOICES, SETTINGS = "survey", "choices", "settings"
EXTERNAL_CHOICES, ENTITIES, OSM, LIBRARY = "external_choices", "entities", "osm", "library"
LOCKING = "kobo--locking-profiles"

SHEET_NAMES = frozenset({SURVEY, CHOICES, SETTINGS, EXTERNAL_CHOICES, ENTITIES, OSM, LIBRARY, LOCKING})

MEDIA = ("image", "big-image", "audio", "video")

TRANSLATABLE_COLUMNS = frozenset(
    {"label", "hint", "guidance_hint", "constraint_message", "required_message", *(f"media::{kind}" for kind in MEDIA)}
)

# Columns whose cells are XPath, and which therefore can be broken.
EXPRESSION_COLUMNS = frozenset(
    {"relevant", "constraint", "calculation", "choice_filter", "required", "read_only", "repeat_count"}
)

SURVEY_COLUMNS = frozenset(
    {
        "type",
        "name",
        "default",
        "appearance",
        "parameters",
        "trigger",
        "autoplay",
        "rows",
        "intent",
        "save_to",
        "disabled",
        "compact_tag",
        "no_app_error_string",
        "sms_field",
        "sms_option",
        "sms_separator",
        "sms_allow_media",
        "sms_date_format",
        "sms_datetime_format",
        "sms_response",
        *TRANSLATABLE_COLUMNS,
        *EXPRESSION_COLUMNS,
    }
)

# Columns that mean something to the live system and nothing to a compiler of forms.
KOBO_COLUMNS = frozenset(
    {
        "hxl",
        "tags",
        "$kuid",
        "$autoname",
        "$autovalue",
        "$xpath",
        "$given_name",
        "select_from_list_name",
        "kobo--locking-profile",
        "kobo--matrix_list",
        "kobo--score-choices",
        "kobo--rank-items",
        "kobo--rank-constraint-message",
    }
)

CHOICE_COLUMNS = frozenset({"list_name", "name", "label", "geometry", *(f"media::{kind}" for kind in MEDIA)})

SETTING_COLUMNS = frozenset(
    {
        "form_title",
        "id_string",
        "version",
        "default_language",
        "style",
        "name",
        "public_key",
        "submission_url",
        "auto_send",
        "auto_delete",
        "client_editable",
        "instance_name",
        "instance_id",
        "omit_instanceID",
        "instance_xmlns",
        "namespaces",
        "allow_choice_duplicates",
        "clean_text_values",
        "add_none_option",
        "flat",
        "prefix",
        "delimiter",
        "sms_keyword",
        "sms_separator",
        "sms_allow_media",
        "sms_date_format",
        "sms_datetime_format",
        "sms_response",
        "kobo--lock_all",
        "kobo--locking-profile",
    }
)

# A header that starts with one of these and a separator goes into the form as it is.
PASSTHROUGH_PREFIXES = frozenset({"bind", "control", "body", "instance", "attribute"})

_SURVEY_ALIASES = {
    "command": "type",
    "tag": "name",
    "value": "name",
    "caption": "label",
    "relevance": "relevant",
    "bind::relevant": "relevant",
    "bind::constraint": "constraint",
    "constraining_message": "constraint_message",
    "bind::jr:constraintmsg": "constraint_message",
    "requiredmsg": "required_message",
    "bind::jr:requiredmsg": "required_message",
    "bind::required": "required",
    "calculate": "calculation",
    "bind::calculate": "calculation",
    "readonly": "read_only",
    "bind::readonly": "read_only",
    "control::appearance": "appearance",
    "body::appearance": "appearance",
    "count": "repeat_count",
    "jr:count": "repeat_count",
    "control::jr:count": "repeat_count",
    "body::jr:count": "repeat_count",
    "noapperrorstring": "no_app_error_string",
    **{kind: f"media::{kind}" for kind in MEDIA},
}

_CHOICE_ALIASES = {
    "caption": "label",
    "value": "name",
    "list": "list_name",
    **{kind: f"media::{kind}" for kind in MEDIA},
}

_SETTING_ALIASES = {
    "title": "form_title",
    "set_form_title": "form_title",
    "form_id": "id_string",
    "set_form_id": "id_string",
    "omit_instanceid": "omit_instanceID",
}

# Settings that may be given twice. The word of the standard wins, as with other tools.
SETTING_SYNONYMS = [{"form_id", "id_string"}, {"form_title", "title"}]
PREFERRED_SETTINGS = frozenset({"form_id", "form_title"})

COLUMN_ALIASES = {
    SURVEY: _SURVEY_ALIASES,
    LIBRARY: _SURVEY_ALIASES,
    CHOICES: _CHOICE_ALIASES,
    EXTERNAL_CHOICES: _CHOICE_ALIASES,
    OSM: _CHOICE_ALIASES,
    SETTINGS: _SETTING_ALIASES,
}

COLUMNS_BY_SHEET = {
    SURVEY: SURVEY_COLUMNS | KOBO_COLUMNS,
    LIBRARY: SURVEY_COLUMNS | KOBO_COLUMNS | {"block"},
    CHOICES: CHOICE_COLUMNS | KOBO_COLUMNS,
    EXTERNAL_CHOICES: CHOICE_COLUMNS,
    OSM: CHOICE_COLUMNS,
    SETTINGS: SETTING_COLUMNS,
}


def to_snake_case(text: str) -> str:
    """`External  Choices` as `external_choices`: case and spaces do not tell names apart."""
    return "_".join(text.split()).lower()
