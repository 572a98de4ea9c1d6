"""What a check found, and what to do about it."""

from enum import StrEnum

import msgspec


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True):
    check: str  # the subject, in one word
    level: Level
    message: str
    advice: str = ""


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Level.WARNING, message, advice)


def error(check: str, message: str, advice: str = "") -> Finding:
    """Without `advice`, the message itself says what to do."""
    return Finding(check, Level.ERROR, message, advice)
