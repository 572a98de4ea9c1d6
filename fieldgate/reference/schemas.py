"""Records of countries, regions and disaster types."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fieldgate.i18n.languages import FALLBACK_ORDER, codes_in_english

OriginalLanguage = Annotated[
    str,
    Meta(description=f"Language the texts were written in: {codes_in_english(FALLBACK_ORDER)}."),
]


class MiniCountry(msgspec.Struct, frozen=True, kw_only=True):
    iso: Annotated[
        str | None,
        Meta(description="Two-letter code of ISO 3166-1; null if this is not a country."),
    ]
    iso3: Annotated[
        str | None,
        Meta(description="Three-letter code of ISO 3166-1; null if this is not a country."),
    ]
    id: Annotated[int, Meta(description="Identifier of the country.")]
    record_type: Annotated[
        int,
        Meta(
            description="1 country, 2 cluster, 3 region, 4 country office, 5 representative office."
        ),
    ]
    record_type_display: Annotated[
        str, Meta(description="The type, in the language of the response.")
    ]
    region: Annotated[
        int | None, Meta(description="Identifier of its region, 0 to 4; 0 is Africa.")
    ]
    independent: Annotated[
        bool | None, Meta(description="Whether it is an independent state; null if unknown.")
    ]
    is_deprecated: Annotated[bool, Meta(description="Whether it is no longer in use.")]
    fdrs: Annotated[
        str | None, Meta(description="Code of its national society in the databank of the IFRC.")
    ]
    average_household_size: Annotated[
        float | None, Meta(description="Persons in a household, on average.")
    ]
    society_name: Annotated[str, Meta(description="Name of its national society; may be empty.")]
    name: Annotated[str, Meta(description="Name of the country, in the language of the response.")]
    translation_module_original_language: OriginalLanguage


class CountryLink(msgspec.Struct, frozen=True, kw_only=True):
    title: Annotated[str, Meta(description="Text of the link.")] = ""
    url: Annotated[str, Meta(description="Address of the link.")] = ""
    id: Annotated[int | None, Meta(description="Identifier of the link.")] = None


class Geometry(msgspec.Struct, frozen=True, kw_only=True):
    """A geometry of GeoJSON."""

    type: Annotated[
        Literal["Point", "Polygon", "MultiPolygon"], Meta(description="Kind of geometry.")
    ]
    coordinates: Annotated[list[Any], Meta(description="Numbers, nested as the type requires.")]


class CountryRecord(MiniCountry, frozen=True, kw_only=True):
    """A country in full. What only this record has is known if it was pulled from a server that knows it."""

    society_url: Annotated[str | None, Meta(description="Website of its national society.")]
    url_ifrc: Annotated[str | None, Meta(description="Its page on the website of the IFRC.")]
    key_priorities: Annotated[
        str | None, Meta(description="Priorities of the IFRC in the country.")
    ]
    inform_score: Annotated[
        str | None, Meta(description="Risk by the INFORM index, a decimal number.")
    ]
    bbox: Annotated[Geometry | None, Meta(description="The rectangle around it, as GeoJSON.")]
    centroid: Annotated[Geometry | None, Meta(description="Its centre, as GeoJSON.")]
    links: Annotated[list[CountryLink], Meta(description="Links about the country.")]
    address_1: Annotated[str | None, Meta(description="Address of its national society.")]
    address_2: Annotated[str | None, Meta(description="Second line of the address.")]
    city_code: Annotated[str | None, Meta(description="Postal code of the address.")]
    phone: Annotated[str | None, Meta(description="Telephone number of its national society.")]
    website: Annotated[str | None, Meta(description="Website given with the address.")]
    emails: Annotated[list[str] | None, Meta(description="Addresses for e-mail.")]
    overview: Annotated[
        str | None, Meta(description="A text about the country, in the language of the response.")
    ]


# Stored as they are, except `overview`, which has translations.
PROFILE_FIELDS = {
    field.name: field.type
    for field in msgspec.structs.fields(CountryRecord)
    if field.name not in MiniCountry.__struct_fields__ and field.name != "overview"
}


class RegionRecord(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[int, Meta(description="The same as `id`.")]
    id: Annotated[int, Meta(description="Identifier of the region; 0 is Africa.")]
    region_name: Annotated[
        str, Meta(description="Name of the region, in the language of the response.")
    ]
    bbox: Annotated[None, Meta(description="Always null; clients expect the key.")] = None
    label: Annotated[str, Meta(description="The same as `region_name`.")]
    translation_module_original_language: OriginalLanguage = "en"


class DisasterTypeRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: Annotated[int, Meta(description="Identifier of the type.")]
    summary: Annotated[str, Meta(description="What the type covers; may be empty.")]
    name: Annotated[str, Meta(description="Name of the type, in the language of the response.")]
    translation_module_original_language: OriginalLanguage
