"""What files are made from: the context of a page or an export, and the fields of records that feeds need."""

import msgspec

from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData


class FileContext(msgspec.Struct, frozen=True, kw_only=True):
    language: Language
    reference_data: ReferenceData
    base_url: str = ""  # of the service
    self_url: str = ""  # of this file or page
    list_url: str = ""  # of the list with the same filters: without paging and format, so it identifies a feed
    title: str = ""
    with_hashtags: bool = False  # the HXL row in tables
    with_bom: bool = False  # in CSV
    next_page: str | None = None
    previous_page: str | None = None

    def event_url(self, id_: int) -> str:
        return f"{self.base_url}/api/v2/event/{id_}/"


class FeedCountry(msgspec.Struct):
    id: int
    name: str
    iso3: str | None
    region: int | None


class FeedType(msgspec.Struct):
    id: int
    name: str


class FeedAppeal(msgspec.Struct):
    amount_requested: float
    amount_funded: float


class FeedEvent(msgspec.Struct):
    """The fields of list records that feeds and GeoJSON need; the decoder skips the others."""

    id: int
    name: str
    summary: str
    dtype: FeedType | None
    countries: list[FeedCountry]
    appeals: list[FeedAppeal]
    num_affected: int | None
    ifrc_severity_level: int
    ifrc_severity_level_display: str
    glide: str
    disaster_start_date: str
    created_at: str
    updated_at: str


decode_event = msgspec.json.Decoder(FeedEvent).decode
