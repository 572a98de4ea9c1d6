"""Names of question types for people."""

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

TYPE_NAMES: dict[str, Message] = {
    "acknowledge": Message("Confirmation"),
    "audio": Message("Audio recording"),
    "audit": Message("Log of the interview"),
    "background-audio": Message("Audio recording in the background"),
    "background-geopoint": Message("Location in the background"),
    "barcode": Message("Barcode or QR code"),
    "begin_group": Message("Group"),
    "begin_kobomatrix": Message("Table of questions"),
    "begin_loop": Message("Group repeated for each choice"),
    "begin_rank": Message("Ranking"),
    "begin_repeat": Message("Repeated group"),
    "begin_score": Message("Rating"),
    "calculate": Message("Calculation"),
    "csv-external": Message("Data file"),
    "date": Message("Date"),
    "datetime": Message("Date and time"),
    "decimal": Message("Decimal number"),
    "deviceid": Message("Id of the device"),
    "email": Message("Email address from the device"),
    "end": Message("End of the interview"),
    "file": Message("File"),
    "geopoint": Message("Location"),
    "geoshape": Message("Area on a map"),
    "geotrace": Message("Line on a map"),
    "hidden": Message("Hidden value"),
    "image": Message("Photo"),
    "integer": Message("Whole number"),
    "note": Message("Note"),
    "number_of_days_in_last_month": Message("Number of days in the last month"),
    "number_of_days_in_last_six_months": Message("Number of days in the last six months"),
    "number_of_days_in_last_year": Message("Number of days in the last year"),
    "osm": Message("OpenStreetMap feature"),
    "percentage": Message("Percentage"),
    "phone_number": Message("Phone number"),
    "phonenumber": Message("Phone number of the device"),
    "range": Message("Number on a scale"),
    "rank": Message("Ranking of choices"),
    "rank__level": Message("Rank"),
    "score__row": Message("Item to rate"),
    "select_multiple": Message("Several choices"),
    "select_multiple_from_file": Message("Several choices from a file"),
    "select_one": Message("One choice"),
    "select_one_external": Message("One choice from a long list"),
    "select_one_from_file": Message("One choice from a file"),
    "simserial": Message("Number of the SIM card"),
    "start": Message("Start of the interview"),
    "start-geopoint": Message("Location at the start"),
    "subscriberid": Message("Subscriber of the SIM card"),
    "text": Message("Text"),
    "time": Message("Time"),
    "today": Message("Date of the interview"),
    "trigger": Message("Confirmation"),
    "username": Message("User of the app"),
    "video": Message("Video"),
    "xml-external": Message("Data file"),
}


def type_name(question_type: str, language: Language) -> str:
    """The name of a type. A type that is not known is returned as it is."""
    message = TYPE_NAMES.get(question_type.removeprefix("uri:"))
    return question_type if message is None else translate(message, language)
