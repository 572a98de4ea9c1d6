"""The five regions. Their ids, which start at 0, are part of the API."""

from functools import cache

import msgspec

from fieldgate.http.links import encode
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.schemas import RegionRecord


class Region(msgspec.Struct, frozen=True):
    id: int
    name: Message


REGIONS = (
    Region(0, Message("Africa")),
    Region(1, Message("Americas")),
    Region(2, Message("Asia Pacific")),
    Region(3, Message("Europe")),
    Region(4, Message("Middle East & North Africa")),
)
REGION_NAMES = {region.id: region.name for region in REGIONS}


@cache
def region_records(language: Language) -> dict[int, msgspec.Raw]:
    """Return the encoded record of every region, by id."""
    return {region.id: msgspec.Raw(encode(_to_record(region, language))) for region in REGIONS}


def regions_matching(word: str) -> frozenset[int]:
    """Return the regions whose name contains the word, in any language, folded."""
    wanted = fold_text(word)
    return frozenset(
        region.id
        for region in REGIONS
        if any(wanted in fold_text(translate(region.name, language)) for language in Language)
    )


def _to_record(region: Region, language: Language) -> RegionRecord:
    name = translate(region.name, language)
    return RegionRecord(name=region.id, id=region.id, region_name=name, label=name)
