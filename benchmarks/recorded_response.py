"""A response as received."""

import msgspec


class RecordedResponse(msgspec.Struct, frozen=True):
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header, by its lower-case name; "" if it is missing."""
        return next((value for key, value in self.headers if key.lower() == name), "")
