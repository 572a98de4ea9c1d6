"""The tables of names cover everything in pyxform. A new release of pyxform with new names fails here."""

from collections.abc import Iterable

import pytest
from pyxform import aliases, constants
from pyxform.question import MultipleChoiceQuestion, Option
from pyxform.question_type_dictionary import QUESTION_TYPE_DICT
from pyxform.survey import Survey

from fieldgate.imports.xlsform import Form, parse_workbook
from fieldgate.imports.xlsform.checks.parameters import PARAMETERS
from fieldgate.imports.xlsform.question_types import (
    FILE_SELECT_TYPES,
    HIDDEN_TYPES,
    LIST_TYPES,
    STANDARD_CONTAINERS,
    STANDARD_TYPES,
    parse_question_type,
)
from fieldgate.imports.xlsform.sheet_table import SheetColumn, parse_headers
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    ENTITY_COLUMNS,
    EXTERNAL_CHOICES,
    FALSE_WORDS,
    KOBO_COLUMNS,
    OSM,
    SETTINGS,
    SHEET_NAMES,
    SURVEY,
    TRANSLATABLE_COLUMNS,
    TRUE_WORDS,
)
from tests.imports.xlsform.workbooks import xlsx

# Fields of pyxform's classes that are not columns, but parts of the form that pyxform builds.
BUILT_BY_PYXFORM = frozenset(
    {
        *(
            "actions",
            "bind",
            "children",
            "choices",
            "control",
            "entity_version",
            "extra_data",
            "file_name",
        ),
        *("hint", "instance", "itemset", "label", "media", "parent", "query", "type", "attribute"),
        *("setgeopoint_by_triggering_ref", "setvalues_by_triggering_ref", "sms_field"),
    }
)


def column(sheet: str, header: str) -> SheetColumn:
    [parsed] = parse_headers(sheet, [header])
    assert parsed is not None
    return parsed


def public_fields(names: tuple[str, ...]) -> list[str]:
    return sorted(name for name in names if not name.startswith("_"))


@pytest.mark.parametrize(
    ("sheet", "headers"),
    [
        (SURVEY, aliases.survey_header.keys() - {"body"}),
        (CHOICES, aliases.list_header),
        (EXTERNAL_CHOICES, aliases.list_header),
        (OSM, aliases.list_header),
        (SETTINGS, aliases.settings_header),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_headers_of_pyxform_are_known(sheet: str, headers: Iterable[str]) -> None:
    assert [header for header in headers if not column(sheet, header).known] == []


def test_survey_headers_are_the_same_column_where_pyxform_says_so() -> None:
    keys: dict[object, set[str]] = {}
    for header, target in aliases.survey_header.items():
        if header != "body":
            keys.setdefault(target, set()).add(column(SURVEY, header).key)
    assert {target for target, found in keys.items() if len(found) > 1} == set()


def test_survey_headers_are_different_columns_where_pyxform_says_so() -> None:
    targets: dict[str, set[object]] = {}
    for header, target in aliases.survey_header.items():
        targets.setdefault(column(SURVEY, header).key, set()).add(target)
    assert {key for key, found in targets.items() if len(found) > 1} == set()


@pytest.mark.parametrize("header", ["media::poster", "media", "bind", "body"])
def test_groups_of_headers_are_not_columns(header: str) -> None:
    assert not column(SURVEY, header).known


@pytest.mark.parametrize(
    ("sheet", "fields"),
    [
        (SURVEY, MultipleChoiceQuestion.get_slot_names()),
        (SETTINGS, Survey.get_slot_names()),
        (CHOICES, Option.get_slot_names()),
    ],
)
def test_fields_of_pyxform_are_columns_or_built_by_it(sheet: str, fields: tuple[str, ...]) -> None:
    # Names of lists are part of the type. `sms_option` is read from the survey sheet.
    elsewhere = {"list_name"} if sheet == SURVEY else {"sms_option"}
    unknown = [name for name in public_fields(fields) if not column(sheet, name).known]
    assert set(unknown) <= BUILT_BY_PYXFORM | elsewhere


def test_columns_of_kobotoolbox_are_not_in_pyxform() -> None:
    assert not KOBO_COLUMNS & {
        *aliases.survey_header,
        *aliases.list_header,
        *aliases.settings_header,
    }


def test_sheets_of_pyxform_are_known() -> None:
    assert constants.SUPPORTED_SHEET_NAMES <= SHEET_NAMES


@pytest.mark.parametrize("suffix", sorted(constants.EXTERNAL_INSTANCE_EXTENSIONS))
def test_files_of_pyxform_can_have_choices(suffix: str) -> None:
    survey = [["type", "name", "label"], [f"select_one_from_file towns{suffix}", "town", "Town"]]
    assert isinstance(parse_workbook(xlsx({"survey": survey}), "form"), Form)


def test_entity_columns_of_pyxform_are_known() -> None:
    assert {*aliases.entities_header, *aliases.entities_header.values()} <= ENTITY_COLUMNS


def test_translatable_columns_of_pyxform_are_translatable() -> None:
    for sheet, headers in (
        (SURVEY, aliases.TRANSLATABLE_SURVEY_COLUMNS),
        (CHOICES, aliases.TRANSLATABLE_CHOICES_COLUMNS),
    ):
        for target in headers.values():
            header = target if isinstance(target, str) else "::".join(target)
            found = column(sheet, f"{header}::French (fr)")
            assert (found.key in TRANSLATABLE_COLUMNS, found.language) == (True, "French (fr)")


def test_yes_and_no_of_pyxform_are_known() -> None:
    assert {
        word for word, value in aliases.yes_no.items() if value != (word.lower() in TRUE_WORDS)
    } == set()
    assert {
        word for word, value in aliases.yes_no.items() if value == (word.lower() in FALSE_WORDS)
    } == set()


@pytest.mark.parametrize("spelling", QUESTION_TYPE_DICT)
def test_types_of_pyxform_are_known(spelling: str) -> None:
    found = parse_question_type(spelling)
    assert found is not None
    assert found.name in STANDARD_TYPES | LIST_TYPES | FILE_SELECT_TYPES


@pytest.mark.parametrize(
    "spelling", [name for name in QUESTION_TYPE_DICT if "select" not in name and name != "rank"]
)
def test_spellings_of_a_type_compile_to_the_same(spelling: str) -> None:
    found = parse_question_type(spelling)
    assert found is not None
    assert QUESTION_TYPE_DICT[found.pyxform_type] == QUESTION_TYPE_DICT[spelling]


@pytest.mark.parametrize(("spelling", "target"), aliases.select.items())
def test_selects_of_pyxform_are_known(spelling: str, target: str) -> None:
    found = parse_question_type(f"{spelling} fruits")
    assert found is not None
    command, list_name = found.pyxform_type.split()
    assert (aliases.select[command], list_name) == (target, "fruits")
    assert (command in aliases.select_from_file) == (spelling in aliases.select_from_file)


@pytest.mark.parametrize(("spelling", "container"), aliases.control.items())
def test_containers_of_pyxform_are_known(spelling: str, container: str) -> None:
    begin, end = parse_question_type(f"begin {spelling}"), parse_question_type(f"end {spelling}")
    assert begin is not None
    assert end is not None
    assert (begin.begins, end.ends) == (container, container)
    assert container in STANDARD_CONTAINERS


def test_types_without_a_control_in_pyxform_need_no_label() -> None:
    standard = STANDARD_TYPES & QUESTION_TYPE_DICT.keys()
    without_control = {name for name in standard if not QUESTION_TYPE_DICT[name].get("control")}
    assert without_control <= HIDDEN_TYPES


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("text", constants.ParametersText),
        ("image", constants.ParametersImage),
        ("audio", constants.ParametersAudio),
        ("audit", constants.ParametersAudit),
        ("range", constants.ParametersRange),
        ("geopoint", constants.ParametersGeoPoint),
        ("geotrace", constants.ParametersGeo),
        ("geoshape", constants.ParametersGeo),
        ("select_one", constants.ParametersSelect),
        ("select_multiple", constants.ParametersSelect),
        ("rank", constants.ParametersSelect),
        ("select_one_from_file", constants.ParametersSelectFromFile),
        ("select_multiple_from_file", constants.ParametersSelectFromFile),
    ],
)
def test_parameters_of_pyxform_are_known(
    name: str, parameters: type[constants.ParametersText]
) -> None:
    assert PARAMETERS[name].keys() == {parameter.value for parameter in parameters}
