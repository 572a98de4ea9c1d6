"""Parse headers with q-values: Accept, Accept-Language and Accept-Encoding."""

MAX_HEADER_BYTES = 1000  # longer headers are cut: parsed headers are cached


def parse_accepted_values(header: bytes) -> list[tuple[str, float]]:
    """Members with a q-value above zero, best first; equals keep their order. Invalid members are skipped."""
    return [(name, quality) for name, quality in parse_quality_values(header) if quality > 0]


def parse_quality_values(header: bytes) -> list[tuple[str, float]]:
    """All members with their q-value, zero included, best first."""
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
