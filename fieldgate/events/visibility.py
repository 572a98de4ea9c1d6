"""What a caller may see of events, and of the reports in them."""

from collections.abc import Iterable

import msgspec

from fieldgate.events.model import MOVEMENT, PUBLIC, SECRETARIAT, SOCIETIES
from fieldgate.identity import Caller
from fieldgate.reference.reference_data import ReferenceData


class ViewerScope(msgspec.Struct, frozen=True):
    """The levels seen whatever the country, and the countries whose members-only records are seen as well."""

    levels: frozenset[int]
    countries: frozenset[int] = frozenset()

    @property
    def can_see_contacts(self) -> bool:
        return MOVEMENT in self.levels

    def can_see(self, visibility: int, countries: frozenset[int] | tuple[int, ...]) -> bool:
        if visibility in self.levels:
            return True
        return visibility == SOCIETIES and not self.countries.isdisjoint(countries)


PUBLIC_SCOPE = ViewerScope(frozenset({PUBLIC}))
FULL_SCOPE = ViewerScope(frozenset({PUBLIC, MOVEMENT, SECRETARIAT, SOCIETIES}))


class Audience(msgspec.Struct, frozen=True):
    """By whom an event is seen in lists."""

    visibility: int
    countries: frozenset[int]

    @classmethod
    def of(cls, visibility: int, countries: Iterable[int]) -> "Audience":
        return cls(visibility, frozenset(countries if visibility == SOCIETIES else ()))  # others see it whatever those

    def includes(self, other: "Audience") -> bool:
        """Whether whoever sees the other sees this."""
        if self.visibility == other.visibility == SOCIETIES:
            return self.countries >= other.countries
        return _NARROWEST_FIRST.index(self.visibility) >= _NARROWEST_FIRST.index(other.visibility)

    def __or__(self, other: "Audience") -> "Audience":
        """By whom either is seen."""
        if self.visibility == other.visibility:
            return Audience(self.visibility, self.countries | other.countries)
        return self if self.includes(other) else other


_NARROWEST_FIRST = (SECRETARIAT, SOCIETIES, MOVEMENT, PUBLIC)


def viewer_scope(caller: Caller, reference_data: ReferenceData) -> ViewerScope:
    """What a caller may see: the public, members of the movement, those of a country, and the secretariat."""
    if caller.is_anonymous:
        return PUBLIC_SCOPE
    if caller.is_superuser or caller.is_ifrc:
        return FULL_SCOPE
    found = (reference_data.country_by_iso3(iso3) for iso3 in caller.countries)
    return ViewerScope(frozenset({PUBLIC, MOVEMENT}), frozenset(country.id for country in found if country is not None))


def audience_key(caller: Caller) -> str:
    """The same word for callers who see the same."""
    if caller.is_anonymous:
        return ""
    if caller.is_superuser or caller.is_ifrc:
        return "all"
    return "member " + " ".join(sorted(caller.countries))
