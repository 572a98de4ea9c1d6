"""What is derived from packed events, and that it only changes together with `EVENT_FORMAT`."""

import hashlib
from datetime import UTC, datetime

import msgspec

from fieldgate.events.derived import EVENT_FORMAT, derive
from fieldgate.events.facets import FACETS
from fieldgate.events.model import Appeal, Event, FieldReport, Person, Visibility

TIMESTAMP = datetime(2026, 7, 14, 6, 30, tzinfo=UTC)
FULL_EVENT = Event(
    id=1,
    name={"fr": "Crue", "en": "Flood", "ar": "فيضان"},
    summary={"es": "<p>Mucha  agua:\u202f12\u202f000;=1</p>"},
    original_language="fr",
    dtype=12,
    countries=(123, 84),
    num_affected=12,
    ifrc_severity_level=2,
    glide="FL-2026-000123-NPL",
    disaster_start_date=TIMESTAMP,
    created_at=TIMESTAMP,
    updated_at=TIMESTAMP,
    auto_generated_source="WHO scraper",
    is_featured=True,
    is_featured_region=True,
    visibility=Visibility.PUBLIC,
    appeals=(
        Appeal(id=1, aid="1", code="mdrnp001", atype=1, status=0, end_date=TIMESTAMP, amount_requested=1000.25),
        Appeal(id=2, aid="2", atype=1, status=0, amount_requested=99.999, amount_funded=0.1),
    ),
    field_reports=(
        FieldReport(
            id=1,
            created_at=TIMESTAMP,
            updated_at=TIMESTAMP,
            contacts=(Person(id=1, name="Amina"),),
            epi_figures_source=1,
        ),
    ),
)
# The digest of everything derived from this event, by format. A change of it without a new format would leave the
# stored events as they are: add a line here and bump `EVENT_FORMAT`.
DIGESTS = {5: "81541fe54320913e5f5ecb8694b58ddf0fdb71f171ec7cc5efa8df3f1d3f7dc0"}


def test_derived_data_changes_only_with_the_format() -> None:
    digest = hashlib.sha256(msgspec.msgpack.encode(derive(FULL_EVENT))).hexdigest()
    assert DIGESTS.get(EVENT_FORMAT) == digest, f"raise EVENT_FORMAT, and add to DIGESTS: {digest!r}"


def test_facets_of_an_event() -> None:
    words, mark, figures = derive(FULL_EVENT).facets.partition("#")
    assert mark + figures == "#12 2 110025 10"
    expected = {
        "visibility": ("3",),
        "severity": ("2",),
        "country": ("84", "123"),
        "appeal_type": ("1",),
        "disaster_type": ("12",),
        "featured": ("",),
        "featured_in_region": ("",),
        "source": ("1",),
        "states_num_affected": ("",),
    }
    assert words.split() == [FACETS[name].word(value) for name, values in expected.items() for value in values]


def test_search_text_of_an_event() -> None:
    derived = derive(FULL_EVENT)
    assert derived.names.split("\x1f") == ["crue", "flood", "فيضان"]
    assert derived.glide == "FL-2026-000123-NPL"
    assert derived.appeal_codes == ",MDRNP001,"
