"""Events that never happened: plausible, the same for the same seed, and as quick to make as to write.

for event in demo_events(2000, directory): ...
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from html import escape
from random import Random
from typing import Any, NamedTuple

from babel.dates import format_skeleton

from fieldgate.events.demo import texts
from fieldgate.events.demo.texts import CODES, Said
from fieldgate.events.model import (
    Appeal,
    Code,
    District,
    Event,
    EventLink,
    FieldReport,
    KeyFigure,
    Person,
    Source,
    Texts,
    Visibility,
)
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, ReferenceData

END = datetime(2026, 11, 1, tzinfo=UTC)  # fixed: made again next year, they are the same
START = END.replace(year=END.year - 15)
HOUR, DAY = 60 * 60, 24 * 60 * 60  # seconds
APART = 0.9  # of the time between two events, at most, is left to chance: no two begin in the same second


class Kind(NamedTuple):
    """What we know of a type of disaster."""

    share: int
    does: str  # a key of `texts.WORK`
    glide: str


KINDS = {
    1: Kind(120, "health", "EP"),
    2: Kind(60, "ground", "EQ"),
    4: Kind(90, "water", "TC"),
    5: Kind(70, "people", "OT"),
    6: Kind(15, "people", "CE"),
    7: Kind(40, "people", "OT"),
    8: Kind(12, "ground", "VO"),
    11: Kind(2, "water", "TS"),
    12: Kind(280, "water", "FL"),
    13: Kind(20, "other", "OT"),
    14: Kind(18, "other", "CW"),
    15: Kind(50, "other", "FR"),
    19: Kind(12, "other", "HT"),
    20: Kind(45, "hunger", "DR"),
    21: Kind(45, "hunger", "OT"),
    23: Kind(15, "water", "SS"),
    24: Kind(30, "ground", "LS"),
    27: Kind(45, "water", "FF"),
    54: Kind(12, "other", "AC"),
    57: Kind(3, "other", "AC"),
    62: Kind(6, "hunger", "IN"),
    66: Kind(3, "health", "EP"),
    67: Kind(1, "other", "AC"),
    68: Kind(6, "other", "AC"),
}

# Three-letter codes of countries: struck more often than others, or written about in another language than English.
PRONE = "AFG BGD COD COL ETH HTI IDN IND KEN MDG MOZ NPL PAK PHL SDN SOM SSD VNM YEM"
SHARES = {0: 3, 1: 3, 2: 3, 3: 1, 4: 2}  # of a country, by its region
FRENCH = "BDI BEN BFA CAF CIV CMR COD COG COM DJI FRA GAB GIN HTI MCO MDG MLI NER SEN TCD TGO"
SPANISH = "ARG BOL CHL COL CRI CUB DOM ECU ESP GNQ GTM HND MEX NIC PAN PER PRY SLV URY VEN"
ARABIC = "ARE BHR DZA EGY IRQ JOR KWT LBN LBY MAR MRT OMN PSE QAT SAU SDN SYR TUN YEM"


def _bag(shares: Mapping[Any, int]) -> Sequence[Any]:
    """Values as often as their share says: one of them at random is a weighted choice."""
    return tuple(value for value, share in shares.items() for _ in range(share))


COUNTRIES = _bag({1: 92, 2: 5, 3: 2, 4: 1})
SEVERITIES = _bag({0: 70, 1: 22, 2: 8})
VISIBILITIES = _bag({3: 980, 1: 12, 4: 5, 2: 3})
APPEAL_TYPES = _bag({0: 76, 1: 17, 3: 5, 2: 2})


def demo_events(count: int, directory: ReferenceData, seed: int = 0) -> Iterator[Event]:
    """Events with the ids 1 to `count`, the oldest first."""
    maker = _Maker(directory, Random(seed))  # noqa: S311
    first, length = int(START.timestamp()), (END - START).total_seconds()
    for number in range(1, count + 1):
        yield maker.event(number, first + int(length * (number - 1 + APART * maker.chance()) / count))


class _Place(NamedTuple):
    """A country, and what is said with it."""

    id: int
    iso: str
    iso3: str
    language: int  # its place in `CODES`
    names: Said
    share: int
    region: tuple[int, ...]  # the countries that may be struck with it


class _Maker:
    def __init__(self, directory: ReferenceData, random: Random) -> None:
        self.chance = random.random
        self._places = _places(directory)
        self._some_place = _bag({place: place.share for place in self._places.values()})
        known = {number: kind for number, kind in KINDS.items() if number in directory.types}
        self._some_type = _bag({number: kind.share for number, kind in known.items()})
        self._types = {
            number: _said(directory.type_name(language, number) for language in Language) for number in known
        }
        self._months = _months()
        self._in_year: Counter[int] = Counter()
        self._appeals_of: Counter[str] = Counter()
        self._made: Counter[str] = Counter()  # of each kind of part: their ids
        self._latest: dict[tuple[int, int], int] = {}  # event by country and type

    def event(self, number: int, start: int) -> Event:
        pick, chance = self._pick, self.chance
        place: _Place = pick(self._some_place)
        places = [place, *self._neighbours(place, pick(COUNTRIES) - 1)]
        countries = tuple([each.id for each in places])
        dtype: int = pick(self._some_type)
        began = datetime.fromtimestamp(start, UTC)
        created = _moment(start + 2 * HOUR + int(9 * DAY * chance() ** 3))
        updated = _moment(int(created.timestamp()) + int(90 * DAY * chance() ** 2))
        where = _joined(places)
        name = self._name(where, dtype, began)
        people = _rounded(10 ** (2 + 4.5 * chance() ** 1.5))
        visibility: Visibility = pick(VISIBILITIES)
        severity = pick(SEVERITIES)
        code: Code = CODES[place.language]  # type: ignore[assignment]
        appeals = self._appeals(place, created, people) if chance() < 0.4 else ()
        reports = self._reports(countries, dtype, created, name, code, people, visibility) if chance() < 0.4 else ()
        source = self._source(dtype, bool(appeals), bool(reports)) if chance() < 0.35 else None
        more = self._rarities(place, dtype, began, number) if chance() < 0.15 else {}
        return Event(
            id=number,
            name=name,
            summary=self._summary(where, dtype, place.language, people),
            original_language=code,
            dtype=dtype,
            countries=countries,
            num_affected=people if chance() < 0.6 else None,
            ifrc_severity_level=severity,
            ifrc_severity_level_update_date=updated if severity else None,
            glide=self._glide(dtype, began.year, place) if chance() < 0.7 else "",
            disaster_start_date=began,
            created_at=created,
            updated_at=updated,
            auto_generated=source is not None,
            auto_generated_source=source,
            is_featured=severity > 0 and chance() < 0.04,
            is_featured_region=severity > 0 and chance() < 0.04,
            parent_event=self._parent(number, place, dtype),
            visibility=visibility,
            appeals=appeals,
            field_reports=reports,
            **more,
        )

    def _pick(self, bag: Sequence[Any]) -> Any:
        return bag[int(self.chance() * len(bag))]

    def _number(self, part: str) -> int:
        self._made[part] += 1
        return self._made[part]

    def _neighbours(self, place: _Place, count: int) -> list[_Place]:
        found: dict[int, _Place] = {}
        while len(found) < min(count, len(place.region)):
            number = self._pick(place.region)
            found[number] = self._places[number]
        return list(found.values())

    def _name(self, where: Said, dtype: int, began: datetime) -> Texts:
        kind, month = self._types[dtype], self._months[began.year, began.month]
        colon, comma = texts.COLON, texts.COMMA
        return {code: where[at] + colon[at] + kind[at] + comma[at] + month[at] for at, code in enumerate(CODES)}

    def _summary(self, where: Said, dtype: int, own: int, people: int) -> Texts:
        affected = self._pick(texts.AFFECTED)
        work = self._pick(texts.WORK[KINDS[dtype].does]) if self.chance() < 0.5 else None
        said = {}
        for at in range(len(CODES)) if self.chance() < 0.1 else (own,):
            count = f"{people:,}".replace(",", texts.THOUSANDS[at])
            sentence = affected[at].format(place=escape(where[at], quote=False), people=count)
            said[CODES[at]] = f"<p>{sentence}</p>" if work is None else f"<p>{sentence} {work[at]}</p>"
        return said

    def _glide(self, dtype: int, year: int, place: _Place) -> str:
        self._in_year[year] += 1
        return f"{KINDS[dtype].glide}-{year}-{self._in_year[year] % 1_000_000:06}-{place.iso3}"

    def _parent(self, number: int, place: _Place, dtype: int) -> int | None:
        """Now and then an event turns out to be part of an earlier one."""
        earlier = self._latest.get((place.id, dtype))
        if earlier is not None and self.chance() < 0.01:
            return earlier
        self._latest[place.id, dtype] = number
        return None

    def _source(self, dtype: int, has_appeals: bool, has_reports: bool) -> Source:
        if has_reports:
            return "New field report"
        if has_appeals:
            return "Appeal admin"
        return "WHO scraper" if KINDS[dtype].does == "health" else "GDACs scraper"

    def _appeals(self, place: _Place, created: datetime, people: int) -> tuple[Appeal, ...]:
        return tuple([self._appeal(place, created, people) for _ in range(1 if self.chance() < 0.9 else 2)])

    def _appeal(self, place: _Place, created: datetime, people: int) -> Appeal:
        number = self._number("appeal")
        self._appeals_of[place.iso] += 1
        atype = self._pick(APPEAL_TYPES)
        start = created.replace(hour=0, minute=0, second=0) + timedelta(days=1 + int(20 * self.chance()))
        end = start + timedelta(days=120 if atype == 0 else 365 + int(365 * self.chance()))
        reached = people // (1 + int(9 * self.chance()))
        asked = float(_rounded(30_000 + reached * 60 * self.chance()))
        return Appeal(
            id=number,
            aid=str(10_000 + number),
            code=f"MDR{place.iso}{self._appeals_of[place.iso]:03}",
            atype=atype,
            status=0 if end > END else 1,
            num_beneficiaries=reached,
            amount_requested=asked,
            # A DREF is allocated whole; others are given to.
            amount_funded=asked if atype == 0 else float(int(asked * self.chance())),
            start_date=start,
            end_date=end,
        )

    def _reports(
        self,
        countries: tuple[int, ...],
        dtype: int,
        created: datetime,
        name: Texts,
        code: Code,
        people: int,
        visibility: Visibility,
    ) -> tuple[FieldReport, ...]:
        chance = self.chance
        reports = []
        for count in range(1 if chance() < 0.92 else 2):
            at = _moment(int(created.timestamp()) + (count + int(3 * chance())) * DAY)
            reports.append(
                FieldReport(
                    id=self._number("report"),
                    summary={code: name[code]},
                    status=9 if chance() < 0.9 else 8,
                    visibility=visibility if chance() < 0.95 else 1,
                    created_at=at,
                    updated_at=at,
                    report_date=at,
                    contacts=(self._person(),),
                    countries=countries,
                    num_affected=people,
                    num_assisted=people // 5 if chance() < 0.5 else None,
                    num_localstaff=1 + int(40 * chance()),
                    num_volunteers=5 + int(400 * chance()),
                    request_assistance=chance() < 0.3,
                    recent_affected=1,
                    original_language=code,
                    **self._harm(dtype, people),
                )
            )
        return tuple(reports)

    def _harm(self, dtype: int, people: int) -> dict[str, Any]:
        dead = int(people * 0.004 * self.chance())
        if KINDS[dtype].does == "health":
            cases = people // 4
            return {
                "epi_cases": cases,
                "epi_confirmed_cases": cases // 3,
                "epi_num_dead": dead,
                "epi_figures_source": 0,
            }
        return {
            "num_dead": dead,
            "num_injured": dead * 4,
            "num_displaced": people // 3,
            "gov_num_affected": people + people // 10,
        }

    def _person(self) -> Person:
        first, last = self._pick(texts.FIRST_NAMES), self._pick(texts.LAST_NAMES)
        ctype, title = self._pick(texts.WORKS_AS)
        address = f"{first}.{last}@example.org".lower().replace("é", "e").replace("á", "a")
        return Person(id=self._number("person"), ctype=ctype, name=f"{first} {last}", title=title, email=address)

    def _rarities(self, place: _Place, dtype: int, began: datetime, number: int) -> dict[str, Any]:
        """What few events have."""
        chance = self.chance
        more: dict[str, Any] = {}
        if chance() < 0.1:
            kind = self._types[dtype][0].lower().replace(" ", "-")
            more["slug"] = f"{place.iso3.lower()}-{kind}-{began.year}-{number}"
        if chance() < 0.3:
            more["contacts"] = (self._person(),)
        if chance() < 0.3:
            at = 1 + int(len(texts.DISTRICTS) * chance())
            named = list(enumerate(texts.DISTRICTS, start=1))[:at]
            more["districts"] = tuple(
                [District(id=place.id * 10 + each, name=name, code=f"{place.iso3}{each:02}") for each, name in named]
            )
        if chance() < 0.2:
            count = f"{100 + int(900 * chance())}"
            deck = dict(zip(CODES, texts.VOLUNTEERS, strict=True))
            more["key_figures"] = (KeyFigure(id=self._number("figure"), number=count, deck=deck, source="Demo"),)
        if chance() < 0.2:
            title = dict(zip(CODES, texts.MAP, strict=True))
            address = f"https://example.org/maps/{number}"
            more["links"] = (EventLink(id=self._number("link"), url=address, title=title),)
        if chance() < 0.2:
            more["emergency_response_contact_email"] = f"{place.iso3.lower()}@example.org"
        if chance() < 0.2 and began.year == END.year:
            more["active_deployments"] = 1 + int(12 * chance())
        return more


def _places(directory: ReferenceData) -> dict[int, _Place]:
    struck = [each for each in directory.countries.values() if _can_be_struck(each)]
    return {
        each.id: _Place(
            id=each.id,
            iso=each.iso or "",
            iso3=each.iso3 or "",
            language=_language(each.iso3 or ""),
            names=_said(directory.country_name(language, each.id) for language in Language),
            share=SHARES.get(each.region or 0, 1) * (4 if (each.iso3 or "") in PRONE else 1),
            region=tuple(other.id for other in struck if other.region == each.region and other is not each),
        )
        for each in struck
    }


def _can_be_struck(country: Country) -> bool:
    is_state = country.record_type == 1 and country.independent is True and not country.is_deprecated
    return is_state and country.region is not None and bool(country.iso) and bool(country.iso3)


def _language(iso3: str) -> int:
    """The language events there are written down in, as its place in `CODES`."""
    return next((at for at, spoken in ((1, FRENCH), (2, ARABIC), (3, SPANISH)) if iso3 in spoken), 0)


def _months() -> dict[tuple[int, int], Said]:
    """Every month we need in every language, such as julio de 2026."""
    return {
        (year, month): _said(format_skeleton("yMMMM", date(year, month, 1), locale=code) for code in CODES)
        for year in range(START.year, END.year + 1)
        for month in range(1, 13)
    }


def _said(texts: Iterable[str]) -> Said:
    en, fr, ar, es = texts
    return en, fr, ar, es


def _joined(places: Sequence[_Place]) -> Said:
    """Where it happened: two countries are named, more are counted among others."""
    if len(places) == 1:
        return places[0].names
    both = (
        first + comma + second
        for first, comma, second in zip(places[0].names, texts.COMMA, places[1].names, strict=True)
    )
    if len(places) == 2:
        return _said(both)
    return _said(two + others for two, others in zip(both, texts.OTHERS, strict=True))


def _moment(seconds: int) -> datetime:
    """A moment, though none after the end."""
    return min(datetime.fromtimestamp(seconds, UTC), END)


def _rounded(number: float) -> int:
    """To two digits, as people count people."""
    whole = int(number)
    step = int("1" + "0" * (len(str(whole)) - 2))
    return whole // step * step
