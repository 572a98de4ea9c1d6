"""An answer as it came over the wire."""

import msgspec


class RecordedResponse(msgspec.Struct, frozen=True):
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header, which servers capitalise as they like."""
        return next((value for given, value in self.headers if given.lower() == name), "")
