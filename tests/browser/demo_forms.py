"""Workbooks of the demo site: a good form in three languages, its second version, one with problems, a large one."""

from tests.imports.workbooks import Rows, xlsx

LANGUAGES = ("label::English (en)", "label::Français (fr)", "label::العربية (ar)")
LARGE_FORM_QUESTIONS = 3_000

_SURVEY_HEADER = (
    "type",
    "name",
    *LANGUAGES,
    "hint::English (en)",
    "required",
    "relevant",
    "constraint",
    "calculation",
)
_SURVEY: Rows = (
    _SURVEY_HEADER,
    ("start", "start"),
    (
        "note",
        "welcome",
        "Welcome. This takes ten minutes.",
        "Bienvenue. Cela prend dix minutes.",
        "أهلا بكم.",
    ),
    ("begin_group", "place", "Place", "Lieu", "المكان"),
    (
        "select_one region",
        "region",
        "Region",
        "Région",
        "الولاية",
        "Where the household lives now",
        "yes",
    ),
    ("geopoint", "location", "Location", "Position", "الموقع"),
    ("end_group",),
    ("text", "head"),
    (
        "integer",
        "size",
        "How many people live here?",
        "Combien de personnes vivent ici ?",
        "كم عدد الأفراد هنا؟",
        "",
        "yes",
        "",
        ". > 0 and . < 50",
    ),
    ("begin_repeat", "member", "Member", "Membre", "فرد"),
    ("text", "member_name", "Name", "Nom", "الاسم"),
    ("integer", "member_age", "Age", "Âge", "العمر", "", "", "${size} > 1", ". < 120"),
    ("end_repeat",),
    (
        "select_multiple needs",
        "needs",
        "Most urgent needs",
        "Besoins urgents",
        "الاحتياجات العاجلة",
    ),
    ("date", "arrived", "Date of arrival", "Date d’arrivée", "تاريخ الوصول"),
    ("decimal", "rice", "Rice left, in kg", "Riz restant, en kg", "الأرز المتبقي بالكيلوغرام"),
    ("image", "photo", "Photo of the house", "Photo de la maison", "صورة المنزل"),
    ("calculate", "rice_each", "", "", "", "", "", "", "", "${rice} div ${size}"),
)
_CHOICES: Rows = (
    ("list_name", "name", *LANGUAGES),
    ("region", "sennar", "Sennar", "Sennar", "سنار"),
    ("region", "gedaref", "Gedaref", "Gedaref", "القضارف"),
    ("needs", "water", "Water", "Eau", "ماء"),
    ("needs", "food", "Food", "Nourriture", "غذاء"),
    ("needs", "shelter", "Shelter", "Abri", "مأوى"),
)


def household(title: str, label: str = "Head of household") -> bytes:
    """A form with nearly everything. The label is also the hint of that question, and a choice."""
    return xlsx(
        survey=_survey(label), choices=_choices(label), settings=(("form_title",), (title,))
    )


def household_second_version(title: str, label: str = "Head of household") -> bytes:
    """One question added, one removed, one label changed."""
    kept = [row for row in _survey(label) if row[1:2] != ("photo",)]
    changed = [
        ("decimal", "rice", "Rice left, in kilograms", *row[3:]) if row[1:2] == ("rice",) else row
        for row in kept
    ]
    added = ("text", "phone", "Phone number", "Téléphone", "رقم الهاتف")
    return xlsx(
        survey=[*changed, added], choices=_choices(label), settings=(("form_title",), (title,))
    )


def _survey(label: str) -> Rows:
    named = ("text", "head", label, "Chef de ménage", "رب الأسرة", f"{label}: full name", "yes")
    return [named if row[1:2] == ("head",) else row for row in _SURVEY]


def _choices(label: str) -> Rows:
    return [*_CHOICES, ("needs", "other", f"Not listed ({label})", "Autre", "غير ذلك")]


def with_problems(label: str = "What is your name?") -> bytes:
    return xlsx(
        survey=(
            ("type", "name", "label", "relevant", "constraint"),
            ("text", "name", label),
            ("integr", "age", label),
            ("select_one colour", "colour", "Which colour?"),
            ("text", "name", "The same name again"),
            ("text", "reason", "Why?", "${missing} = 'yes'"),
            ("text", "two words", "A name with a space"),
            ("integer", "count", "How many?", "", ". >> 3"),
        ),
        choices=(
            ("list_name", "name", "label"),
            ("color", "red", "Red"),
            ("color", "blue", "Blue"),
        ),
    )


def with_warnings(title: str) -> bytes:
    return xlsx(
        survey=(
            ("type", "name", "label::English (en)", "label::Français (fr)", "colour"),
            ("text", "first", "First question", "", "x"),
            ("text", "second", "", "Deuxième question", ""),
        ),
        settings=(("form_title",), (title,)),
    )


def large(title: str, questions: int = LARGE_FORM_QUESTIONS) -> bytes:
    rows = [
        ("integer", f"q{number}", f"Question {number}: how many?")
        for number in range(1, questions + 1)
    ]
    return xlsx(survey=[("type", "name", "label"), *rows], settings=(("form_title",), (title,)))
