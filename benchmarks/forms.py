"""Forms of any length to import, and their multipart bodies."""

import io

from openpyxl import Workbook

BOUNDARY = "4f1c9a7be2d04c55b0a6a4c1c1a9f3d7"


def form(questions: int) -> bytes:
    """A form with this many questions in two languages, with choices, conditions and constraints."""
    book = Workbook()
    survey, choices = book.active, book.create_sheet("choices")
    survey.title = "survey"
    survey.append(["type", "name", "label::English (en)", "label::French (fr)", "relevant", "constraint", "required"])
    for number in range(questions):
        kind = ("text", "integer", "select_one yes_no", "geopoint")[number % 4]
        relevant = f"${{q{number - 1}}} != ''" if number % 7 == 3 else None
        constraint = ". >= 0" if kind == "integer" else None
        survey.append([kind, f"q{number}", f"Question {number}", f"Question no {number}", relevant, constraint, "yes"])
    choices.append(["list_name", "name", "label::English (en)", "label::French (fr)"])
    choices.append(["yes_no", "yes", "Yes", "Oui"])
    choices.append(["yes_no", "no", "No", "Non"])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def multipart(book: bytes) -> bytes:
    """The multipart body of a POST with the form as its file; the boundary is `BOUNDARY`."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="form.xlsx"\r\n\r\n'
    return head.encode() + book + f"\r\n--{BOUNDARY}--\r\n".encode()
