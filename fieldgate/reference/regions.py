"""The five regions. They are fixed: their ids are part of the interface, and 0 is one like any other."""

import msgspec

from fieldgate.http.language import Message


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
