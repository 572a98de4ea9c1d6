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
from fieldgate.events.demo.texts import LANGUAGE_CODES, TextByLanguage
from fieldgate.events.model import (
    Appeal,
    District,
    Event,
    EventLink,
    FieldReport,
    KeyFigure,
    Person,
    Source,
    Visibility,
)
from fieldgate.i18n.languages import Language, LanguageCode
from fieldgate.i18n.localized_text import LocalizedText
from fieldgate.reference.reference_data import Country, ReferenceData

END = datetime(2026, 11, 1, tzinfo=UTC)  # fixed: made again next year, they are the same
START = END.replace(year=END.year - 15)
HOUR_SECONDS, DAY_SECONDS = 60 * 60, 24 * 60 * 60  # seconds
MAX_JITTER = 0.9  # of the time between two events, at most, is left to chance: no two begin in the same second


class DisasterProfile(NamedTuple):
    """What we know of a type of disaster."""

    weight: int
    response_kind: str  # a key of `texts.WORK`
    glide_code: str


DISASTER_PROFILES = {
    1: DisasterProfile(120, "health", "EP"),
    2: DisasterProfile(60, "ground", "EQ"),
    4: DisasterProfile(90, "water", "TC"),
    5: DisasterProfile(70, "people", "OT"),
    6: DisasterProfile(15, "people", "CE"),
    7: DisasterProfile(40, "people", "OT"),
    8: DisasterProfile(12, "ground", "VO"),
    11: DisasterProfile(2, "water", "TS"),
    12: DisasterProfile(280, "water", "FL"),
    13: DisasterProfile(20, "other", "OT"),
    14: DisasterProfile(18, "other", "CW"),
    15: DisasterProfile(50, "other", "FR"),
    19: DisasterProfile(12, "other", "HT"),
    20: DisasterProfile(45, "hunger", "DR"),
    21: DisasterProfile(45, "hunger", "OT"),
    23: DisasterProfile(15, "water", "SS"),
    24: DisasterProfile(30, "ground", "LS"),
    27: DisasterProfile(45, "water", "FF"),
    54: DisasterProfile(12, "other", "AC"),
    57: DisasterProfile(3, "other", "AC"),
    62: DisasterProfile(6, "hunger", "IN"),
    66: DisasterProfile(3, "health", "EP"),
    67: DisasterProfile(1, "other", "AC"),
    68: DisasterProfile(6, "other", "AC"),
}

# Three-letter codes of countries: struck more often than others, or written about in another language than English.
DISASTER_PRONE_COUNTRIES = "AFG BGD COD COL ETH HTI IDN IND KEN MDG MOZ NPL PAK PHL SDN SOM SSD VNM YEM"
REGION_WEIGHTS = {0: 3, 1: 3, 2: 3, 3: 1, 4: 2}  # of a country, by its region
FRENCH_SPEAKING = "BDI BEN BFA CAF CIV CMR COD COG COM DJI FRA GAB GIN HTI MCO MDG MLI NER SEN TCD TGO"
SPANISH_SPEAKING = "ARG BOL CHL COL CRI CUB DOM ECU ESP GNQ GTM HND MEX NIC PAN PER PRY SLV URY VEN"
ARABIC_SPEAKING = "ARE BHR DZA EGY IRQ JOR KWT LBN LBY MAR MRT OMN PSE QAT SAU SDN SYR TUN YEM"


def _weighted(weights: Mapping[Any, int]) -> Sequence[Any]:
    """Values as often as their share says: one of them at random is a weighted choice."""
    return tuple(value for value, share in weights.items() for _ in range(share))


COUNTRY_COUNT_CHOICES = _weighted({1: 92, 2: 5, 3: 2, 4: 1})
SEVERITY_CHOICES = _weighted({0: 70, 1: 22, 2: 8})
VISIBILITY_CHOICES = _weighted(
    {Visibility.PUBLIC: 980, Visibility.MOVEMENT: 12, Visibility.SOCIETIES: 5, Visibility.SECRETARIAT: 3}
)
APPEAL_TYPE_CHOICES = _weighted({0: 76, 1: 17, 3: 5, 2: 2})


def demo_events(count: int, reference_data: ReferenceData, seed: int = 0) -> Iterator[Event]:
    """Events with the ids 1 to `count`, the oldest first."""
    maker = _EventGenerator(reference_data, Random(seed))  # noqa: S311
    first, length = int(START.timestamp()), (END - START).total_seconds()
    for number in range(1, count + 1):
        yield maker.event(number, first + int(length * (number - 1 + MAX_JITTER * maker.chance()) / count))


class _DemoCountry(NamedTuple):
    """A country, and what is said with it."""

    id: int
    iso: str
    iso3: str
    language_index: int  # its place in `CODES`
    names: TextByLanguage
    weight: int
    neighbour_ids: tuple[int, ...]  # the countries that may be struck with it


class _EventGenerator:
    def __init__(self, reference_data: ReferenceData, random: Random) -> None:
        self.chance = random.random
        self._countries = _demo_countries(reference_data)
        self._country_choices = _weighted({place: place.weight for place in self._countries.values()})
        known = {number: kind for number, kind in DISASTER_PROFILES.items() if number in reference_data.types}
        self._type_choices = _weighted({number: kind.weight for number, kind in known.items()})
        self._type_names = {
            number: _texts(reference_data.type_name(language, number) for language in Language) for number in known
        }
        self._month_names = _month_names()
        self._glide_counts: Counter[int] = Counter()
        self._appeal_counts: Counter[str] = Counter()
        self._last_ids: Counter[str] = Counter()  # of each kind of part: their ids
        self._latest_event_ids: dict[tuple[int, int], int] = {}  # event by country and type

    def event(self, id_: int, start: int) -> Event:
        pick, chance = self._pick, self.chance
        place: _DemoCountry = pick(self._country_choices)
        places = [place, *self._neighbours(place, pick(COUNTRY_COUNT_CHOICES) - 1)]
        countries = tuple([each.id for each in places])
        dtype: int = pick(self._type_choices)
        began = datetime.fromtimestamp(start, UTC)
        created = _capped_timestamp(start + 2 * HOUR_SECONDS + int(9 * DAY_SECONDS * chance() ** 3))
        updated = _capped_timestamp(int(created.timestamp()) + int(90 * DAY_SECONDS * chance() ** 2))
        where = _joined_names(places)
        name = self._name(where, dtype, began)
        people = _rounded(10 ** (2 + 4.5 * chance() ** 1.5))
        visibility: Visibility = pick(VISIBILITY_CHOICES)
        severity = pick(SEVERITY_CHOICES)
        code: LanguageCode = LANGUAGE_CODES[place.language_index]
        appeals = self._appeals(place, created, people) if chance() < 0.4 else ()
        reports = self._reports(countries, dtype, created, name, code, people, visibility) if chance() < 0.4 else ()
        source = self._source(dtype, bool(appeals), bool(reports)) if chance() < 0.35 else None
        more = self._rare_fields(place, dtype, began, id_) if chance() < 0.15 else {}
        return Event(
            id=id_,
            name=name,
            summary=self._summary(where, dtype, place.language_index, people),
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
            parent_event=self._parent(id_, place, dtype),
            visibility=visibility,
            appeals=appeals,
            field_reports=reports,
            **more,
        )

    def _pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.chance() * len(choices))]

    def _next_id(self, part: str) -> int:
        self._last_ids[part] += 1
        return self._last_ids[part]

    def _neighbours(self, country: _DemoCountry, count: int) -> list[_DemoCountry]:
        found: dict[int, _DemoCountry] = {}
        while len(found) < min(count, len(country.neighbour_ids)):
            number = self._pick(country.neighbour_ids)
            found[number] = self._countries[number]
        return list(found.values())

    def _name(self, where: TextByLanguage, dtype: int, began: datetime) -> LocalizedText:
        kind, month = self._type_names[dtype], self._month_names[began.year, began.month]
        colon, comma = texts.COLON, texts.COMMA
        return {
            code: where[at] + colon[at] + kind[at] + comma[at] + month[at] for at, code in enumerate(LANGUAGE_CODES)
        }

    def _summary(self, where: TextByLanguage, dtype: int, own: int, people: int) -> LocalizedText:
        affected = self._pick(texts.AFFECTED_SENTENCES)
        work = (
            self._pick(texts.RESPONSE_SENTENCES[DISASTER_PROFILES[dtype].response_kind])
            if self.chance() < 0.5
            else None
        )
        said = {}
        for at in range(len(LANGUAGE_CODES)) if self.chance() < 0.1 else (own,):
            count = f"{people:,}".replace(",", texts.THOUSANDS_SEPARATOR[at])
            sentence = affected[at].format(place=escape(where[at], quote=False), people=count)
            said[LANGUAGE_CODES[at]] = f"<p>{sentence}</p>" if work is None else f"<p>{sentence} {work[at]}</p>"
        return said

    def _glide(self, dtype: int, year: int, country: _DemoCountry) -> str:
        self._glide_counts[year] += 1
        return f"{DISASTER_PROFILES[dtype].glide_code}-{year}-{self._glide_counts[year] % 1_000_000:06}-{country.iso3}"

    def _parent(self, id_: int, country: _DemoCountry, dtype: int) -> int | None:
        """Now and then an event turns out to be part of an earlier one."""
        earlier = self._latest_event_ids.get((country.id, dtype))
        if earlier is not None and self.chance() < 0.01:
            return earlier
        self._latest_event_ids[country.id, dtype] = id_
        return None

    def _source(self, dtype: int, has_appeals: bool, has_reports: bool) -> Source:
        if has_reports:
            return "New field report"
        if has_appeals:
            return "Appeal admin"
        return "WHO scraper" if DISASTER_PROFILES[dtype].response_kind == "health" else "GDACs scraper"

    def _appeals(self, country: _DemoCountry, created: datetime, people: int) -> tuple[Appeal, ...]:
        return tuple([self._appeal(country, created, people) for _ in range(1 if self.chance() < 0.9 else 2)])

    def _appeal(self, country: _DemoCountry, created: datetime, people: int) -> Appeal:
        number = self._next_id("appeal")
        self._appeal_counts[country.iso] += 1
        atype = self._pick(APPEAL_TYPE_CHOICES)
        start = created.replace(hour=0, minute=0, second=0) + timedelta(days=1 + int(20 * self.chance()))
        end = start + timedelta(days=120 if atype == 0 else 365 + int(365 * self.chance()))
        reached = people // (1 + int(9 * self.chance()))
        asked = float(_rounded(30_000 + reached * 60 * self.chance()))
        return Appeal(
            id=number,
            aid=str(10_000 + number),
            code=f"MDR{country.iso}{self._appeal_counts[country.iso]:03}",
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
        name: LocalizedText,
        code: LanguageCode,
        people: int,
        visibility: Visibility,
    ) -> tuple[FieldReport, ...]:
        chance = self.chance
        reports = []
        for count in range(1 if chance() < 0.92 else 2):
            at = _capped_timestamp(int(created.timestamp()) + (count + int(3 * chance())) * DAY_SECONDS)
            reports.append(
                FieldReport(
                    id=self._next_id("report"),
                    summary={code: name[code]},
                    status=9 if chance() < 0.9 else 8,
                    visibility=visibility if chance() < 0.95 else Visibility.MOVEMENT,
                    created_at=at,
                    updated_at=at,
                    report_date=at,
                    contacts=(self._contact(),),
                    countries=countries,
                    num_affected=people,
                    num_assisted=people // 5 if chance() < 0.5 else None,
                    num_localstaff=1 + int(40 * chance()),
                    num_volunteers=5 + int(400 * chance()),
                    request_assistance=chance() < 0.3,
                    recent_affected=1,
                    original_language=code,
                    **self._casualties(dtype, people),
                )
            )
        return tuple(reports)

    def _casualties(self, dtype: int, people: int) -> dict[str, Any]:
        dead = int(people * 0.004 * self.chance())
        if DISASTER_PROFILES[dtype].response_kind == "health":
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

    def _contact(self) -> Person:
        first, last = self._pick(texts.FIRST_NAMES), self._pick(texts.LAST_NAMES)
        ctype, title = self._pick(texts.CONTACT_ROLES)
        address = f"{first}.{last}@example.org".lower().replace("é", "e").replace("á", "a")
        return Person(id=self._next_id("person"), ctype=ctype, name=f"{first} {last}", title=title, email=address)

    def _rare_fields(self, country: _DemoCountry, dtype: int, began: datetime, id_: int) -> dict[str, Any]:
        """What few events have."""
        chance = self.chance
        more: dict[str, Any] = {}
        if chance() < 0.1:
            kind = self._type_names[dtype][0].lower().replace(" ", "-")
            more["slug"] = f"{country.iso3.lower()}-{kind}-{began.year}-{id_}"
        if chance() < 0.3:
            more["contacts"] = (self._contact(),)
        if chance() < 0.3:
            at = 1 + int(len(texts.DISTRICTS) * chance())
            named = list(enumerate(texts.DISTRICTS, start=1))[:at]
            more["districts"] = tuple(
                [
                    District(id=country.id * 10 + each, name=name, code=f"{country.iso3}{each:02}")
                    for each, name in named
                ]
            )
        if chance() < 0.2:
            count = f"{100 + int(900 * chance())}"
            deck = dict(zip(LANGUAGE_CODES, texts.VOLUNTEERS_LABEL, strict=True))
            more["key_figures"] = (KeyFigure(id=self._next_id("figure"), number=count, deck=deck, source="Demo"),)
        if chance() < 0.2:
            title = dict(zip(LANGUAGE_CODES, texts.MAP_TITLE, strict=True))
            address = f"https://example.org/maps/{id_}"
            more["links"] = (EventLink(id=self._next_id("link"), url=address, title=title),)
        if chance() < 0.2:
            more["emergency_response_contact_email"] = f"{country.iso3.lower()}@example.org"
        if chance() < 0.2 and began.year == END.year:
            more["active_deployments"] = 1 + int(12 * chance())
        return more


def _demo_countries(reference_data: ReferenceData) -> dict[int, _DemoCountry]:
    struck = [each for each in reference_data.countries.values() if _is_eligible(each)]
    return {
        each.id: _DemoCountry(
            id=each.id,
            iso=each.iso or "",
            iso3=each.iso3 or "",
            language_index=_language_index(each.iso3 or ""),
            names=_texts(reference_data.country_name(language, each.id) for language in Language),
            weight=REGION_WEIGHTS.get(each.region or 0, 1)
            * (4 if (each.iso3 or "") in DISASTER_PRONE_COUNTRIES else 1),
            neighbour_ids=tuple(other.id for other in struck if other.region == each.region and other is not each),
        )
        for each in struck
    }


def _is_eligible(country: Country) -> bool:
    is_state = country.record_type == 1 and country.independent is True and not country.is_deprecated
    return is_state and country.region is not None and bool(country.iso) and bool(country.iso3)


def _language_index(iso3: str) -> int:
    """The language events there are written down in, as its place in `CODES`."""
    return next(
        (at for at, spoken in ((1, FRENCH_SPEAKING), (2, ARABIC_SPEAKING), (3, SPANISH_SPEAKING)) if iso3 in spoken), 0
    )


def _month_names() -> dict[tuple[int, int], TextByLanguage]:
    """Every month we need in every language, such as julio de 2026."""
    return {
        (year, month): _texts(format_skeleton("yMMMM", date(year, month, 1), locale=code) for code in LANGUAGE_CODES)
        for year in range(START.year, END.year + 1)
        for month in range(1, 13)
    }


def _texts(texts: Iterable[str]) -> TextByLanguage:
    en, fr, ar, es = texts
    return en, fr, ar, es


def _joined_names(countries: Sequence[_DemoCountry]) -> TextByLanguage:
    """Where it happened: two countries are named, more are counted among others."""
    if len(countries) == 1:
        return countries[0].names
    both = (
        first + comma + second
        for first, comma, second in zip(countries[0].names, texts.COMMA, countries[1].names, strict=True)
    )
    if len(countries) == 2:
        return _texts(both)
    return _texts(two + others for two, others in zip(both, texts.AND_OTHERS, strict=True))


def _capped_timestamp(seconds: int) -> datetime:
    """A moment, though none after the end."""
    return min(datetime.fromtimestamp(seconds, UTC), END)


def _rounded(value: float) -> int:
    """To two digits, as people count people."""
    whole = int(value)
    step = int("1" + "0" * (len(str(whole)) - 2))
    return whole // step * step
