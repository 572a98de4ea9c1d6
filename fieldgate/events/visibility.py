"""What a caller may see of events, and of the field reports in them."""

from collections.abc import Iterable

import msgspec

from fieldgate.events.model import Visibility
from fieldgate.identity import Caller
from fieldgate.reference.reference_data import ReferenceData


class ViewerScope(msgspec.Struct, frozen=True):
    """The levels a caller sees in every country, and the countries whose `SOCIETIES` records are seen too."""

    levels: frozenset[int]
    countries: frozenset[int] = frozenset()

    @property
    def can_see_contacts(self) -> bool:
        return Visibility.MOVEMENT in self.levels

    def can_see(self, visibility: int, countries: frozenset[int] | tuple[int, ...]) -> bool:
        if visibility in self.levels:
            return True
        return visibility == Visibility.SOCIETIES and not self.countries.isdisjoint(countries)


PUBLIC_SCOPE = ViewerScope(frozenset({Visibility.PUBLIC}))
FULL_SCOPE = ViewerScope(frozenset(Visibility))


class Audience(msgspec.Struct, frozen=True):
    """Who sees an event in lists."""

    visibility: int
    countries: frozenset[int]

    @classmethod
    def of(cls, visibility: int, countries: Iterable[int]) -> "Audience":
        """The audience of an event; countries only matter for `SOCIETIES`."""
        return cls(visibility, frozenset(countries if visibility == Visibility.SOCIETIES else ()))

    def includes(self, other: "Audience") -> bool:
        """Whether this audience includes the other."""
        if self.visibility == other.visibility == Visibility.SOCIETIES:
            return self.countries >= other.countries
        return _NARROWEST_FIRST.index(self.visibility) >= _NARROWEST_FIRST.index(other.visibility)

    def __or__(self, other: "Audience") -> "Audience":
        """The smallest audience that includes both."""
        if self.visibility == other.visibility:
            return Audience(self.visibility, self.countries | other.countries)
        return self if self.includes(other) else other


_NARROWEST_FIRST: tuple[int, ...] = (
    Visibility.SECRETARIAT,
    Visibility.SOCIETIES,
    Visibility.MOVEMENT,
    Visibility.PUBLIC,
)


def viewer_scope(caller: Caller, reference_data: ReferenceData) -> ViewerScope:
    """What a caller may see, by login, country membership and role."""
    if caller.is_anonymous:
        return PUBLIC_SCOPE
    if caller.sees_everything or caller.is_ifrc:
        return FULL_SCOPE
    found = (reference_data.country_by_iso3(iso3) for iso3 in caller.countries)
    levels: frozenset[int] = frozenset({Visibility.PUBLIC, Visibility.MOVEMENT})
    return ViewerScope(levels, frozenset(country.id for country in found if country is not None))


def audience_key(caller: Caller) -> str:
    """Cache key: equal for callers who see the same events."""
    if caller.is_anonymous:
        return ""
    if caller.sees_everything or caller.is_ifrc:
        return "all"
    return "member " + " ".join(sorted(caller.countries))
