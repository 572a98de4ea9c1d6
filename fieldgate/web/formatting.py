"""Numbers, dates and lists for people, by the rules of their language (CLDR)."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Literal

from babel import Locale, dates, lists, numbers, units

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

MISSING = "–"  # what a table shows where there is no value
_BYTE_UNITS = ("byte", "kilobyte", "megabyte", "gigabyte")
_COMPACT_FROM = 1_000_000
_LARGEST = 1e18
MAX_CACHED_TEXTS = 4096

DateValue = str | date | None  # ISO 8601 from JSON, or a date or timestamp


def comma(language: Language) -> str:
    """What separates the items of a list."""
    return "، " if language is Language.ARABIC else ", "


def _writable(value: float) -> float:
    """Larger numbers are mistakes, and Babel cannot write them."""
    return max(-_LARGEST, min(value, _LARGEST))


class Formatter:
    """Formats values in one language. Timestamps are in UTC, and say so. None becomes a dash."""

    def __init__(self, language: Language) -> None:
        self._locale = Locale(language.value)
        self._language = language

    def number(self, value: float | None) -> str:
        """1,234,567"""
        return MISSING if value is None else _format_number(_writable(value), locale=self._locale)

    def compact(self, value: float | None) -> str:
        """3.2 million; small numbers in full."""
        if value is None:
            return MISSING
        if abs(value) < _COMPACT_FROM:
            return self.number(round(value))
        return _format_compact(
            _writable(value), format_type="long", locale=self._locale, fraction_digits=1
        )

    def money(self, value: float | None) -> str:
        """CHF 30,000; CHF 3.2 million. Some languages have a word between millions and the currency."""
        if value is None:
            return MISSING
        amount = self.compact(value)
        message = Message("CHF {amount}", amount=amount)
        if abs(value) >= _COMPACT_FROM:
            message = Message("CHF {millions}", millions=amount)
        return translate(message, self._language)

    def labelled(self, label: str, value: str) -> str:
        """Kenya: 1,234. French has a space before the colon."""
        return translate(Message("{label}: {value}", label=label, value=value), self._language)

    def short(self, value: float | None) -> str:
        """3.2M, where space is scarce."""
        if value is None:
            return MISSING
        return _format_compact(value, format_type="short", locale=self._locale, fraction_digits=1)

    def percent(self, share: float | None) -> str:
        """41 % of a share between 0 and 1."""
        if share is None:
            return MISSING
        shown = min(share, 0.99) if 0.99 < share < 1 else share  # what is not complete is not 100 %
        return _format_percent(shown, locale=self._locale)

    def date(self, value: DateValue) -> str:
        """16 Nov 2026"""
        parsed = _parse(value)
        return MISSING if parsed is None else _format_day(parsed.date(), locale=self._locale)

    def datetime(self, value: DateValue) -> str:
        """16 Nov 2026, 14:02 UTC"""
        parsed = _parse(value)
        if parsed is None:
            return MISSING
        time = dates.format_time(parsed, "short", locale=self._locale)
        return f"{_format_day(parsed.date(), locale=self._locale)}{comma(self._language)}{time} UTC"

    def since(self, value: DateValue) -> str:
        """3 days ago"""
        parsed = _parse(value)
        if parsed is None:
            return MISSING
        return dates.format_timedelta(
            parsed - datetime.now(UTC), add_direction=True, locale=self._locale
        )

    def month(self, value: DateValue) -> str:
        """Nov 2026"""
        parsed = _parse(value)
        return (
            MISSING
            if parsed is None
            else dates.format_skeleton("yMMM", parsed, locale=self._locale)
        )

    def year(self, value: DateValue) -> str:
        """2026"""
        parsed = _parse(value)
        return (
            MISSING if parsed is None else dates.format_skeleton("y", parsed, locale=self._locale)
        )

    def bytes(self, size: int | None) -> str:
        """1.2 megabytes"""
        if size is None:
            return MISSING
        amount, unit = float(size), 0
        while amount >= 1000 and unit < len(_BYTE_UNITS) - 1:
            amount, unit = amount / 1000, unit + 1
        rounded = round(amount) if unit == 0 or amount >= 100 else round(amount, 1)
        # The short form of bytes is "0 byte". CLDR has no long one in Arabic.
        length: Literal["short", "long"] = "short" if unit or str(self._locale) == "ar" else "long"
        return units.format_unit(
            rounded, f"digital-{_BYTE_UNITS[unit]}", length, locale=self._locale
        )

    def list(self, names: Iterable[str]) -> str:
        """Chad, Kenya and Sudan"""
        return lists.format_list([*names], locale=self._locale) or MISSING


# A table has the same days and numbers again and again, and babel takes some 100 µs for each.
_format_number = lru_cache(MAX_CACHED_TEXTS)(numbers.format_decimal)
_format_compact = lru_cache(MAX_CACHED_TEXTS)(numbers.format_compact_decimal)
_format_percent = lru_cache(MAX_CACHED_TEXTS)(numbers.format_percent)
_format_day = lru_cache(MAX_CACHED_TEXTS)(dates.format_date)


def _parse(value: DateValue) -> datetime | None:
    """A timestamp with a time zone, from JSON or from Python."""
    if not value:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
