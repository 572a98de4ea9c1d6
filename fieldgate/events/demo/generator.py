"""Demo events: plausible, and the same for the same seed.

for event in demo_events(2000, reference_data): ...
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from html import escape
from random import Random
from typing import Any, NamedTuple

from babel.dates import format_skeleton

from fieldgate.events.demo.profiles import (
    APPEAL_TYPE_CHOICES,
    COUNTRY_COUNT_CHOICES,
    DEMO,
    LANGUAGE_CODES,
    SEVERITY_CHOICES,
    VISIBILITY_CHOICES,
    DemoCountry,
    TextByLanguage,
    demo_countries,
    joined_names,
    text_tuple,
    weighted,
)
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
from fieldgate.reference.reference_data import ReferenceData

END = datetime(
    2026, 11, 1, tzinfo=UTC
)  # fixed, so that the events do not depend on the current date
START = END.replace(year=END.year - 15)
HOUR_SECONDS, DAY_SECONDS = 60 * 60, 24 * 60 * 60
MAX_JITTER = (
    0.9  # of the time between two events: below 1, so no two events start in the same second
)


def demo_events(count: int, reference_data: ReferenceData, seed: int = 0) -> Iterator[Event]:
    """Generate events with the ids 1 to `count`, oldest first."""
    generator = _EventGenerator(reference_data, Random(seed))  # noqa: S311
    first, length = int(START.timestamp()), (END - START).total_seconds()
    for id_ in range(1, count + 1):
        yield generator.event(
            id_, first + int(length * (id_ - 1 + MAX_JITTER * generator.chance()) / count)
        )


class _EventFacts(NamedTuple):
    """What the parts of one event have in common."""

    id: int
    country: DemoCountry
    country_ids: tuple[int, ...]
    dtype: int
    start: datetime
    created: datetime
    name: LocalizedText
    language: LanguageCode
    people: int
    visibility: Visibility


class _EventGenerator:
    def __init__(self, reference_data: ReferenceData, random: Random) -> None:
        self.chance = random.random
        self._countries = demo_countries(reference_data)
        self._country_choices = weighted(
            {country: country.weight for country in self._countries.values()}
        )
        profiles = {
            id_: profile for id_, profile in DEMO.disasters.items() if id_ in reference_data.types
        }
        self._type_choices = weighted({id_: profile.weight for id_, profile in profiles.items()})
        self._type_names = {
            id_: text_tuple(
                reference_data.type_records.name(Language(code), id_) for code in LANGUAGE_CODES
            )
            for id_ in profiles
        }
        self._month_names = _month_names()
        self._glide_counts: Counter[int] = Counter()
        self._appeal_counts: Counter[str] = Counter()
        self._last_ids: Counter[str] = Counter()  # by kind of nested record
        self._latest_event_ids: dict[tuple[int, int], int] = {}  # by country and type

    def event(self, id_: int, start_seconds: int) -> Event:
        pick, chance = self._pick, self.chance
        country: DemoCountry = pick(self._country_choices)
        countries = [country, *self._neighbours(country, pick(COUNTRY_COUNT_CHOICES) - 1)]
        dtype: int = pick(self._type_choices)
        start = datetime.fromtimestamp(start_seconds, UTC)
        created = _capped_timestamp(
            start_seconds + 2 * HOUR_SECONDS + int(9 * DAY_SECONDS * chance() ** 3)
        )
        updated = _capped_timestamp(
            int(created.timestamp()) + int(90 * DAY_SECONDS * chance() ** 2)
        )
        place_names = joined_names(countries)
        facts = _EventFacts(
            id=id_,
            country=country,
            country_ids=tuple([each.id for each in countries]),
            dtype=dtype,
            start=start,
            created=created,
            name=self._name(place_names, dtype, start),
            language=LANGUAGE_CODES[country.language_index],
            people=_rounded(10 ** (2 + 4.5 * chance() ** 1.5)),
            visibility=pick(VISIBILITY_CHOICES),
        )
        severity = pick(SEVERITY_CHOICES)
        appeals = self._appeals(facts) if chance() < 0.4 else ()
        reports = self._reports(facts) if chance() < 0.4 else ()
        source = self._source(dtype, bool(appeals), bool(reports)) if chance() < 0.35 else None
        rare_fields = self._rare_fields(facts) if chance() < 0.15 else {}
        return Event(
            id=id_,
            name=facts.name,
            summary=self._summary(place_names, dtype, country.language_index, facts.people),
            original_language=facts.language,
            dtype=dtype,
            countries=facts.country_ids,
            num_affected=facts.people if chance() < 0.6 else None,
            ifrc_severity_level=severity,
            ifrc_severity_level_update_date=updated if severity else None,
            glide=self._glide(dtype, start.year, country) if chance() < 0.7 else "",
            disaster_start_date=start,
            created_at=created,
            updated_at=updated,
            auto_generated=source is not None,
            auto_generated_source=source,
            is_featured=severity > 0 and chance() < 0.04,
            is_featured_region=severity > 0 and chance() < 0.04,
            parent_event=self._parent(id_, country, dtype),
            visibility=facts.visibility,
            appeals=appeals,
            field_reports=reports,
            **rare_fields,
        )

    def _pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.chance() * len(choices))]

    def _next_id(self, part: str) -> int:
        self._last_ids[part] += 1
        return self._last_ids[part]

    def _neighbours(self, country: DemoCountry, count: int) -> list[DemoCountry]:
        found: dict[int, DemoCountry] = {}
        while len(found) < min(count, len(country.neighbour_ids)):
            id_ = self._pick(country.neighbour_ids)
            found[id_] = self._countries[id_]
        return list(found.values())

    def _name(self, place_names: TextByLanguage, dtype: int, start: datetime) -> LocalizedText:
        parts = (
            place_names,
            DEMO.colon,
            self._type_names[dtype],
            DEMO.comma,
            self._month_names[start.year, start.month],
        )
        return {
            code: "".join(part[index] for part in parts)
            for index, code in enumerate(LANGUAGE_CODES)
        }

    def _summary(
        self, place_names: TextByLanguage, dtype: int, language_index: int, people: int
    ) -> LocalizedText:
        affected = self._pick(DEMO.affected_sentences)
        response = (
            self._pick(DEMO.response_sentences[DEMO.disasters[dtype].response_kind])
            if self.chance() < 0.5
            else None
        )
        summary: LocalizedText = {}
        for index in range(len(LANGUAGE_CODES)) if self.chance() < 0.1 else (language_index,):
            count = f"{people:,}".replace(",", DEMO.thousands_separator[index])
            sentence = affected[index].format(
                place=escape(place_names[index], quote=False), people=count
            )
            text = sentence if response is None else f"{sentence} {response[index]}"
            summary[LANGUAGE_CODES[index]] = f"<p>{text}</p>"
        return summary

    def _glide(self, dtype: int, year: int, country: DemoCountry) -> str:
        self._glide_counts[year] += 1
        return f"{DEMO.disasters[dtype].glide_code}-{year}-{self._glide_counts[year] % 1_000_000:06}-{country.iso3}"

    def _parent(self, id_: int, country: DemoCountry, dtype: int) -> int | None:
        """Sometimes an event is merged into an earlier one."""
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
        return "WHO scraper" if DEMO.disasters[dtype].response_kind == "health" else "GDACs scraper"

    def _appeals(self, facts: _EventFacts) -> tuple[Appeal, ...]:
        return tuple([self._appeal(facts) for _ in range(1 if self.chance() < 0.9 else 2)])

    def _appeal(self, facts: _EventFacts) -> Appeal:
        id_, country = self._next_id("appeal"), facts.country
        self._appeal_counts[country.iso] += 1
        atype = self._pick(APPEAL_TYPE_CHOICES)
        start = facts.created.replace(hour=0, minute=0, second=0) + timedelta(
            days=1 + int(20 * self.chance())
        )
        end = start + timedelta(days=120 if atype == 0 else 365 + int(365 * self.chance()))
        beneficiaries = facts.people // (1 + int(9 * self.chance()))
        requested = float(_rounded(30_000 + beneficiaries * 60 * self.chance()))
        return Appeal(
            id=id_,
            aid=str(10_000 + id_),
            code=f"MDR{country.iso}{self._appeal_counts[country.iso]:03}",
            atype=atype,
            status=0 if end > END else 1,
            num_beneficiaries=beneficiaries,
            amount_requested=requested,
            # A DREF is funded completely, other appeals in part.
            amount_funded=requested if atype == 0 else float(int(requested * self.chance())),
            start_date=start,
            end_date=end,
        )

    def _reports(self, facts: _EventFacts) -> tuple[FieldReport, ...]:
        chance, people, code = self.chance, facts.people, facts.language
        reports = []
        for index in range(1 if chance() < 0.92 else 2):
            timestamp = _capped_timestamp(
                int(facts.created.timestamp()) + (index + int(3 * chance())) * DAY_SECONDS
            )
            reports.append(
                FieldReport(
                    id=self._next_id("report"),
                    summary={code: facts.name[code]},
                    status=9 if chance() < 0.9 else 8,
                    visibility=facts.visibility if chance() < 0.95 else Visibility.MOVEMENT,
                    created_at=timestamp,
                    updated_at=timestamp,
                    report_date=timestamp,
                    contacts=(self._contact(),),
                    countries=facts.country_ids,
                    num_affected=people,
                    num_assisted=people // 5 if chance() < 0.5 else None,
                    num_localstaff=1 + int(40 * chance()),
                    num_volunteers=5 + int(400 * chance()),
                    request_assistance=chance() < 0.3,
                    recent_affected=1,
                    original_language=code,
                    **self._casualties(facts.dtype, people),
                )
            )
        return tuple(reports)

    def _casualties(self, dtype: int, people: int) -> dict[str, Any]:
        dead = int(people * 0.004 * self.chance())
        if DEMO.disasters[dtype].response_kind == "health":
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
        first, last = self._pick(DEMO.first_names), self._pick(DEMO.last_names)
        ctype, title = self._pick(DEMO.contact_roles)
        email = f"{first}.{last}@example.org".lower().replace("é", "e").replace("á", "a")
        return Person(
            id=self._next_id("person"),
            ctype=ctype,
            name=f"{first} {last}",
            title=title,
            email=email,
        )

    def _rare_fields(self, facts: _EventFacts) -> dict[str, Any]:
        """Fields that only few events have."""
        chance, country = self.chance, facts.country
        fields: dict[str, Any] = {}
        if chance() < 0.1:
            type_name = self._type_names[facts.dtype][0].lower().replace(" ", "-").replace("/", "-")
            fields["slug"] = f"{country.iso3.lower()}-{type_name}-{facts.start.year}-{facts.id}"
        if chance() < 0.3:
            fields["contacts"] = (self._contact(),)
        if chance() < 0.3:
            count = 1 + int(len(DEMO.districts) * chance())
            districts = list(enumerate(DEMO.districts, start=1))[:count]
            fields["districts"] = tuple(
                [
                    District(
                        id=country.id * 10 + index, name=name, code=f"{country.iso3}{index:02}"
                    )
                    for index, name in districts
                ]
            )
        if chance() < 0.2:
            figure = f"{100 + int(900 * chance())}"
            deck: LocalizedText = dict(zip(LANGUAGE_CODES, DEMO.volunteers_label, strict=True))
            fields["key_figures"] = (
                KeyFigure(id=self._next_id("figure"), number=figure, deck=deck, source="Demo"),
            )
        if chance() < 0.2:
            title: LocalizedText = dict(zip(LANGUAGE_CODES, DEMO.map_title, strict=True))
            url = f"https://example.org/maps/{facts.id}"
            fields["links"] = (EventLink(id=self._next_id("link"), url=url, title=title),)
        if chance() < 0.2:
            fields["emergency_response_contact_email"] = f"{country.iso3.lower()}@example.org"
        if chance() < 0.2 and facts.start.year == END.year:
            fields["active_deployments"] = 1 + int(12 * chance())
        return fields


def _month_names() -> dict[tuple[int, int], TextByLanguage]:
    """The names of all months in all languages, such as "julio de 2026"."""
    return {
        (year, month): text_tuple(
            format_skeleton("yMMMM", date(year, month, 1), locale=code) for code in LANGUAGE_CODES
        )
        for year in range(START.year, END.year + 1)
        for month in range(1, 13)
    }


def _capped_timestamp(seconds: int) -> datetime:
    """The timestamp, at most `END`."""
    return min(datetime.fromtimestamp(seconds, UTC), END)


def _rounded(value: float) -> int:
    """Round down to two significant digits."""
    whole = int(value)
    step = int("1" + "0" * (len(str(whole)) - 2))
    return whole // step * step
