"""HXL hashtags of the columns of CSV and XLSX files (Humanitarian Exchange Language 1.1).

An event is a `#crisis` in HXL, its type the `#cause`. `+list` marks cells with several values.
"""

from fieldgate.events.csv_rows import COLUMNS

HASHTAGS = {
    "appeals.id": "#meta+appeal+id+list",
    "auto_generated": "#meta+auto",
    "countries.id": "#country+id+list",
    "countries.iso": "#country+code+list+v_iso2",
    "countries.iso3": "#country+code+list+v_iso3",
    "countries.name": "#country+list+name",
    "countries.society_name": "#org+list+name",
    "created_at": "#date+created",
    "disaster_start_date": "#date+start",
    "dtype.id": "#cause+id",
    "dtype.name": "#cause+name",
    "dtype.summary": "#description+cause",
    "dtype.translation_module_original_language": "#meta+cause+lang",
    "field_reports.id": "#meta+id+list+report",
    "glide": "#crisis+code+v_glide",
    "id": "#crisis+id",
    "ifrc_severity_level": "#severity+level+num",
    "ifrc_severity_level_display": "#severity+name",
    "ifrc_severity_level_update_date": "#date+severity+updated",
    "is_featured": "#meta+featured",
    "is_featured_region": "#meta+featured+region",
    "name": "#crisis+name",
    "num_affected": "#affected",
    "parent_event": "#crisis+id+parent",
    "slug": "#meta+slug",
    "summary": "#description+crisis",
    "updated_at": "#date+updated",
}
HASHTAG_ROW = tuple(HASHTAGS[column] for column in COLUMNS)
