"""What a caller may see of events, and of the reports in them."""

from collections.abc import Iterable

import msgspec

from fieldgate.events.model import MOVEMENT, PUBLIC, SECRETARIAT, SOCIETIES
from fieldgate.identity import Caller
from fieldgate.reference.reference_data import ReferenceData


class Sight(msgspec.Struct, frozen=True):
    """The levels seen whatever the country, and the countries whose members-only records are seen as well."""

    levels: frozenset[int]
    countries: frozenset[int] = frozenset()

    @property
    def sees_persons(self) -> bool:
        return MOVEMENT in self.levels

    def sees(self, visibility: int, countries: frozenset[int] | tuple[int, ...]) -> bool:
        if visibility in self.levels:
            return True
        return visibility == SOCIETIES and not self.countries.isdisjoint(countries)


EVERYBODY = Sight(frozenset({PUBLIC}))
EVERYTHING = Sight(frozenset({PUBLIC, MOVEMENT, SECRETARIAT, SOCIETIES}))


class Seen(msgspec.Struct, frozen=True):
    """By whom an event is seen in lists."""

    visibility: int
    countries: frozenset[int]

    @classmethod
    def of(cls, visibility: int, countries: Iterable[int]) -> "Seen":
        return cls(visibility, frozenset(countries if visibility == SOCIETIES else ()))  # others see it whatever those

    def covers(self, other: "Seen") -> bool:
        """Whether whoever sees the other sees this."""
        if self.visibility == other.visibility == SOCIETIES:
            return self.countries >= other.countries
        return _FROM_FEW.index(self.visibility) >= _FROM_FEW.index(other.visibility)

    def __or__(self, other: "Seen") -> "Seen":
        """By whom either is seen."""
        if self.visibility == other.visibility:
            return Seen(self.visibility, self.countries | other.countries)
        return self if self.covers(other) else other


_FROM_FEW = (SECRETARIAT, SOCIETIES, MOVEMENT, PUBLIC)


def sight_of(caller: Caller, directory: ReferenceData) -> Sight:
    """What a caller may see: the public, members of the movement, those of a country, and the secretariat."""
    if caller.is_anonymous:
        return EVERYBODY
    if caller.is_superuser or caller.is_ifrc:
        return EVERYTHING
    found = (directory.country_by_iso3(iso3) for iso3 in caller.countries)
    return Sight(frozenset({PUBLIC, MOVEMENT}), frozenset(country.id for country in found if country is not None))


def seen_as(caller: Caller) -> str:
    """The same word for callers who see the same."""
    if caller.is_anonymous:
        return ""
    if caller.is_superuser or caller.is_ifrc:
        return "all"
    return "member " + " ".join(sorted(caller.countries))
