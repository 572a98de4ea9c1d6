# mypy: disable-error-code="import-not-found, misc"
"""A page of a list as a table."""

import csv
import io
from typing import Any

from rest_framework.renderers import BaseRenderer


class CSVRenderer(BaseRenderer):
    media_type = "text/csv"
    format = "csv"

    def render(self, data: Any, _media_type: str | None = None, _context: Any = None) -> bytes:
        """The records, with their keys in the order of the alphabet as the header."""
        records = data["results"]
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, sorted(records[0]) if records else [], restval="")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue().encode()
