"""The workbooks and events of the world. The same bytes each time."""

import io
import re
import zipfile
from collections.abc import Sequence
from typing import Any

from openpyxl import Workbook

Rows = Sequence[Sequence[str]]
LABELS = ("label::English (en)", "label::Français (fr)", "label::العربية (ar)")
HOUSEHOLD: Rows = (
    (
        "type",
        "name",
        *LABELS,
        "hint::English (en)",
        "required",
        "relevant",
        "constraint",
        "calculation",
    ),
    ("start", "start"),
    ("note", "welcome", "Welcome <b>all</b>", "Bienvenue", "أهلا بكم"),
    ("begin_group", "place", "Place", "Lieu", "المكان"),
    ("select_one region", "region", "Region", "Région", "الولاية", "Where people live now", "yes"),
    ("geopoint", "location", "Location", "Position", "الموقع"),
    ("end_group",),
    ("text", "head", "Head of household", "Chef de ménage", "رب الأسرة"),
    ("integer", "size", "How many?", "Combien ?", "كم؟", "", "yes", "", ". > 0 and . < 50"),
    ("begin_repeat", "member", "Member", "Membre", "فرد"),
    ("text", "member_name", "Name", "Nom", "الاسم", "", "", "${size} > 1"),
    ("end_repeat",),
    ("select_multiple needs", "needs", "Needs", "Besoins", "الاحتياجات"),
    ("calculate", "double", "", "", "", "", "", "", "", "${size} * 2"),
)
CHOICES: Rows = (
    ("list_name", "name", *LABELS),
    ("region", "sennar", "Sennar", "Sennar", "سنار"),
    ("region", "gedaref", "Gedaref", "Gedaref", "القضارف"),
    ("needs", "water", "Water", "Eau", "ماء"),
    ("needs", "food", "Food", "Nourriture", ""),
)
PROBLEMS: Rows = (
    ("type", "name", "label", "relevant", "constraint"),
    ("text", "name", "What is your name?"),
    ("integr", "age", "=1+1"),
    ("select_one colour", "colour", "Which colour?"),
    ("text", "name", "The same name again"),
    ("text", "reason", "Why?", "${missing} = 'yes'"),
    ("text", "two words", "A name with a space"),
    ("integer", "count", "How many?", "", ". >> 3"),
)
WARNINGS: Rows = (
    ("type", "name", "label::English (en)", "label::Français (fr)", "colour"),
    ("text", "first", "First question", "", "x"),
    ("text", "second", "", "Deuxième question", ""),
)
LIBRARY: Rows = (
    ("block", "name", "type", "label"),
    ("People", "head", "text", "Head of household"),
    ("People", "size", "integer", "How many?"),
    ("", "water", "text", "Source of water"),
)
CONTENT = {
    "survey": [
        {"type": "text", "name": "head", "label": ["Head of household"]},
        {"type": "select_one yes_no", "name": "water", "label": ["Is there water?"]},
    ],
    "choices": [
        {"list_name": "yes_no", "name": value, "label": [value]} for value in ("yes", "no")
    ],
    "settings": {"style": "pages"},
    "translations": [None],
}


def workbook(**sheets: Rows) -> bytes:
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return _without_times(file)


def _without_times(file: io.BytesIO) -> bytes:
    fixed = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(fixed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "docProps/core.xml":
                content = re.sub(rb"20\d\d-\d\d-\d\dT[\d:.]+Z", b"2026-01-01T00:00:00Z", content)
            new.writestr(zipfile.ZipInfo(name), content)
    return fixed.getvalue()


def household(title: str, *more: Sequence[str]) -> bytes:
    return workbook(
        survey=[*HOUSEHOLD, *more], choices=CHOICES, settings=(("form_title",), (title,))
    )


def events(count: int) -> list[dict[str, Any]]:
    return [_event(number) for number in range(1, count + 1)]


def _event(number: int) -> dict[str, Any]:
    day = f"{number % 28 + 1:02}"
    month = f"{number % 11 + 1:02}"
    names = ("Flood", "Épidémie", "=Cyclone", "Drought 😀", "École")
    event: dict[str, Any] = {
        "id": number,
        "name": {"en": f"{names[number % 5]} {number}"},
        "disaster_start_date": f"202{number % 7}-{month}-{day}T00:00:00Z",
        "created_at": f"2026-01-{day}T10:00:00Z",
        "updated_at": f"2026-02-{day}T10:00:00Z",
        "visibility": (3, 3, 1, 2, 4)[number % 5],
        "dtype": (12, 1, 2, 4, None)[number % 5],
        "countries": ([123], [93, 27], [14], [], [84, 85, 180])[number // 2 % 5],
        "num_affected": (None, 0, 15, 120_000)[number % 4],
        "ifrc_severity_level": number % 3,
    }
    if number % 2:
        event["name"] |= {
            "fr": f"Inondation {number}",
            "ar": f"فيضان {number}",
            "es": f"Inundación {number}",
        }
        event["summary"] = {
            "en": f"<p>Rain since <b>day {number}</b></p><script>x</script>",
            "fr": "<p>Pluie</p>",
        }
        event["glide"] = f"FL-2026-{number:06}-NPL"
    if number % 3 == 0:
        event["appeals"] = [
            {
                "id": number, "aid": f"a{number}", "code": f"MDRNP{number:03}", "atype": number % 4, "status": 0,
                "amount_requested": 1_000_000.5, "amount_funded": 250_000, "num_beneficiaries": 500,
                "start_date": "2026-03-01T00:00:00Z", "end_date": "2026-09-01T00:00:00Z", "sector": "Health",
            }
        ]  # fmt: skip
    if number % 4 == 0:
        person = {
            "id": number,
            "ctype": "Originator",
            "name": "Amina",
            "email": "amina@example.org",
            "phone": "12",
        }
        event["field_reports"] = [
            {
                "id": number * 10 + part, "summary": {"en": f"Report {part}"}, "description": {"en": "<i>More</i>"},
                "created_at": f"2026-02-0{part}T00:00:00Z", "updated_at": f"2026-02-0{part}T00:00:00Z",
                "visibility": 3 - part % 2, "num_dead": part, "gov_num_injured": 4, "countries": [123],
                "contacts": [person], "epi_cases": 3,
            }
            for part in (1, 2)
        ]  # fmt: skip
        event["contacts"] = [person]
        event["is_featured"] = True
    if number % 6 == 0:
        event |= {
            "districts": [{"id": number, "name": "Bagmati", "code": "NP3"}],
            "key_figures": [{"id": number, "number": "12,000", "deck": {"en": "people"}, "source": "NRCS"}],
            "featured_documents": [{"id": number, "title": "Map", "file": "https://example.org/map.pdf"}],
            "links": [{"id": number, "url": "https://example.org/", "title": {"en": "Site"}}],
            "tab_two_title": "Maps", "is_featured_region": True, "auto_generated_source": "GDACs scraper",
            "parent_event": 1 if number > 6 else None, "countries_for_preview": [123],
        }  # fmt: skip
    return event
