"""Headers that rank their members with q-values (Accept, Accept-Language, Accept-Encoding), read in one place."""

MAX_HEADER_BYTES = 1000  # bytes of such a header that are read, and remembered; nobody means more


def parse_accepted_values(header: bytes) -> list[tuple[str, float]]:
    """The members with a q above zero, best first; equals keep their order. What cannot be read is left out."""
    return [(name, quality) for name, quality in parse_quality_values(header) if quality > 0]


def parse_quality_values(header: bytes) -> list[tuple[str, float]]:
    """All members with their q, zero included, best first."""
    members: list[tuple[str, float]] = []
    for part in header.decode("latin-1").split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "q":
                quality = _parse_quality(value.strip())
        if name and quality >= 0:
            members.append((name, quality))
    return sorted(members, key=lambda member: -member[1])


def _parse_quality(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if 0 <= value <= 1 else -1.0
