"""Tells errors of an unavailable database from errors in our code; `outages.py` has the reasons."""

from fieldgate.db.outages import outage_of


def is_unavailable(error: BaseException | None) -> bool:
    """Whether a later attempt may succeed: the database cannot be reached, is full, read-only, or overloaded."""
    return outage_of(error) is not None


class UnexpectedPooler(Exception):
    """There is a connection pooler in front of PostgreSQL, and the setting does not say so."""

    def __init__(self) -> None:
        super().__init__(
            "A connection pooler is in front of PostgreSQL. Set FIELDGATE_DATABASE_POOLER=true, or connect directly."
        )
