"""What a page or an export in a file format depends on, besides its records."""

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
