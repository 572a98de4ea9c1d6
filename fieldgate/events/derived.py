"""What is stored beside the packed event: its list document, its facets and its search text.

All of it is derived from the packed event and carries a format version, `EVENT_FORMAT`. Bump it with every change of
what `derive` returns, such as a new field of list documents or a new facet: at the next start the service rebuilds the
stored events in the background (`reindex.py`), and until then reads the old ones from their packed source.
"""

from typing import NamedTuple

from fieldgate.events.facets import event_facets
from fieldgate.events.figures import encode_figures, event_figures
from fieldgate.events.model import Event
from fieldgate.events.stored_documents import build_document
from fieldgate.reference.reference_data import fold_text

# 0: translations by position. 1: translations by language code. 2: figures behind the facets. 3: rows in documents.
# 4: non-breaking spaces in rows. 5: apostrophes after separators in rows.
EVENT_FORMAT = 5

NAME_SEPARATOR = "\x1f"


class DerivedData(NamedTuple):
    document: bytes
    facets: str  # and the figures
    names: str  # in all languages, folded
    glide: str
    appeal_codes: str  # each between two commas


def derive(event: Event) -> DerivedData:
    return DerivedData(
        build_document(event),
        f"{event_facets(event)} {encode_figures(event_figures(event))}",
        NAME_SEPARATOR.join(dict.fromkeys(map(fold_text, event.name.values()))),
        event.glide,
        "," + ",".join(appeal.code.upper() for appeal in event.appeals if appeal.code) + ",",
    )
