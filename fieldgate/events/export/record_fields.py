"""The fields of list records that feeds and GeoJSON need; the decoder skips the others."""

import msgspec


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
