"""Parse the `type` column. The types and their spellings come from pyxform's own tables.

parse_question_type("select one from yesno or other")  # QuestionType("select_one", list_name="yesno", or_other=True)
"""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache

import msgspec
from pyxform import aliases, constants
from pyxform.question_type_dictionary import QUESTION_TYPE_DICT

from fieldgate.imports.xlsform.vocabulary import to_snake_case

# The names of types that pyxform spells in several ways, or defines in the same way as another type.
_PREFERRED_NAMES = (
    "integer",
    "image",
    "geopoint",
    "deviceid",
    "simserial",
    "calculate",
    "hidden",
    "csv-external",
    "xml-external",
)
_SELECT_NAMES = {
    constants.SELECT_ONE: "select_one",
    constants.SELECT_ALL_THAT_APPLY: "select_multiple",
    constants.SELECT_ONE_EXTERNAL: "select_one_external",
    constants.RANK: "rank",
}
_SELECT_TAGS = {"select1": "select_one", "select": "select_multiple", "odk:rank": "rank"}


def _list_type_spellings() -> Iterator[tuple[str, str]]:
    """Every spelling of a type that is followed by a list, in snake case, with the name of the type."""
    for spelling, target in aliases.select.items():
        name = to_snake_case(spelling)
        yield name, name if spelling in aliases.select_from_file else _SELECT_NAMES[target]
    for spelling, definition in QUESTION_TYPE_DICT.items():
        if spelling in _SELECT_NAMES:
            yield to_snake_case(spelling), _SELECT_NAMES[spelling]
        elif tag := _SELECT_TAGS.get(definition.get("control", {}).get("tag")):
            yield to_snake_case(spelling), tag
    for spelling, target in aliases.control.items():
        if target == constants.LOOP:
            yield f"begin_{to_snake_case(spelling)}", "begin_loop"
            yield f"begin_{to_snake_case(spelling)}_over", "begin_loop"


_LIST_TYPES_BY_SPELLING = dict(_list_type_spellings())


def _type_spellings() -> Iterator[tuple[str, str]]:
    """Every spelling of any other type, in snake case, with the name of the type.

    Spellings with the same definition in pyxform mean the same type. Its name is the preferred one, or the shortest.
    """
    by_definition: dict[str, list[str]] = {}
    for spelling, definition in QUESTION_TYPE_DICT.items():
        if to_snake_case(spelling) not in _LIST_TYPES_BY_SPELLING:
            by_definition.setdefault(json.dumps(definition, sort_keys=True), []).append(
                to_snake_case(spelling)
            )
    for spellings in by_definition.values():
        preferred = [name for name in _PREFERRED_NAMES if name in spellings]
        name = preferred[0] if preferred else min(spellings, key=len)
        for spelling in spellings:
            yield spelling, spelling if spelling in preferred else name


# pyxform has `q picture` but no `picture`. It is accepted here because forms that use it have been imported before.
_TYPES_BY_SPELLING = dict(_type_spellings()) | {"picture": "image"}

STANDARD_TYPES = frozenset(_TYPES_BY_SPELLING.values())

# Facts about the interview that the device records. They are not counted as questions.
METADATA_TYPES = frozenset(
    {
        "start",
        "today",
        "end",
        "deviceid",
        "phonenumber",
        "audit",
        "username",
        "start-geopoint",
        "uri:deviceid",
        "uri:phonenumber",
        "uri:username",
    }
)

GEO_TYPES = frozenset({"geopoint", "geotrace", "geoshape"})

# Not shown to people, so they need no label.
HIDDEN_TYPES = METADATA_TYPES | {
    "calculate",
    "hidden",
    "email",
    "simserial",
    "subscriberid",
    "uri:email",
    "uri:simserial",
    "uri:subscriberid",
    "background-audio",
    "background-geopoint",
    "csv-external",
    "xml-external",
}

STANDARD_CONTAINERS = frozenset(aliases.control.values())
# pyxform knows these with spaces only and gives each of them a hint, so that they need no label. Unlike `phonenumber`,
# which is read from the device, `phone number` is a question.
_TYPES_WITH_SPACES = STANDARD_TYPES - QUESTION_TYPE_DICT.keys()

# KoboToolbox's own containers and rows.
KOBO_CONTAINERS = frozenset({"kobomatrix", "score", "rank"})
KOBO_TYPES = frozenset({"score__row", "rank__level"})

_BEGINS = {f"begin_{container}": container for container in STANDARD_CONTAINERS | KOBO_CONTAINERS}
_ENDS = {f"end_{container}": container for container in STANDARD_CONTAINERS | KOBO_CONTAINERS}

FILE_SELECT_TYPES = frozenset(to_snake_case(spelling) for spelling in aliases.select_from_file)
LIST_TYPES = frozenset({*_LIST_TYPES_BY_SPELLING.values()}) - FILE_SELECT_TYPES

EXTERNAL_TYPES = frozenset(constants.EXTERNAL_INSTANCE_TYPES)

# These have no node in the submission, so nothing can refer to them.
TYPES_WITHOUT_NODE = EXTERNAL_TYPES | {"audit"}

# The edges of containers by their spellings. A loop begins with the name of its list: it is parsed as a list type.
_EDGES_BY_SPELLING = {
    f"{edge}_{to_snake_case(spelling)}": f"{edge}_{container}"
    for edge in ("begin", "end")
    for spelling, container in [
        *aliases.control.items(),
        *((name, name) for name in KOBO_CONTAINERS),
    ]
    if (edge, container) != ("begin", constants.LOOP)
}
_OR_OTHER_SPELLINGS = {("or_other",), ("or", "other"), ("or", "specify", "other")}
_MAX_TYPE_WORDS = max(
    spelling.count("_") + 1 for spelling in (*_LIST_TYPES_BY_SPELLING, *_EDGES_BY_SPELLING)
)
_MAX_SUGGESTION_CHARS = 80
_SIMILARITY_CUTOFF = (
    0.75  # 1 means equal. `txet` is similar to `text`, `number` is not similar to `phonenumber`
)


UNKNOWN = "unknown"  # the name of a type that does not exist


class QuestionType(msgspec.Struct, frozen=True):
    """`list_name` is also the file of a select from a file, the tags of an osm question, and the list of a loop."""

    name: str
    list_name: str | None = None
    or_other: bool = False

    @property
    def begins(self) -> str | None:
        return _BEGINS.get(self.name)

    @property
    def ends(self) -> str | None:
        return _ENDS.get(self.name)

    @property
    def is_unknown(self) -> bool:
        return self.name == UNKNOWN

    @property
    def is_kobo_only(self) -> bool:
        """Whether only KoboToolbox supports it."""
        return self.name in KOBO_TYPES or (self.begins or self.ends) in KOBO_CONTAINERS

    @property
    def needs_label(self) -> bool:
        return self.is_visible and self.name not in _TYPES_WITH_SPACES

    @property
    def is_visible(self) -> bool:
        return not (
            self.name in HIDDEN_TYPES
            or self.begins
            or self.ends
            or self.is_kobo_only
            or self.is_unknown
        )

    @property
    def pyxform_type(self) -> str:
        """The type in pyxform's spelling. KoboToolbox's own types become groups and texts."""
        if container := self.begins or self.ends:
            edge = "begin" if self.begins else "end"
            over = f" over {self.list_name}" if self.list_name else ""
            return f"{edge} {container if container in STANDARD_CONTAINERS else 'group'}{over}"
        if self.name in KOBO_TYPES:
            return "text"
        if self.name in _TYPES_WITH_SPACES:
            return self.name.replace("_", " ")
        return " ".join(
            part
            for part in (self.name, self.list_name, "or_other" if self.or_other else None)
            if part
        )


@lru_cache(maxsize=256)  # a form of thousands of rows has a few types
def parse_question_type(text: str) -> QuestionType | None:
    """The question type that a cell names, or None if there is no such type."""
    words = text.split()
    spelling = "_".join(words).lower()
    if spelling in KOBO_TYPES:
        return QuestionType(spelling)
    return _parse_container(words) or _parse_list_type(words) or _parse_simple_type(spelling, words)


@lru_cache(maxsize=256)  # comparing words is slow
def suggest_question_type(text: str) -> str | None:
    """The known type that an unknown one is a misspelling of."""
    containers = (
        f"{edge}_{container}"
        for edge in ("begin", "end")
        for container in sorted(STANDARD_CONTAINERS)
    )
    known = [*sorted(STANDARD_TYPES), *_LIST_TYPES_BY_SPELLING.values(), *containers]
    words = text[:_MAX_SUGGESTION_CHARS].lower().split()
    for guess in ("_".join(words), *words[:1]):
        if close := get_close_matches(guess, known, n=1, cutoff=_SIMILARITY_CUTOFF):
            return close[0]
    return None


def guess_question_type(text: str) -> QuestionType:
    """The type that was most likely meant by an unknown one."""
    guess = suggest_question_type(text)
    return (parse_question_type(guess) if guess else None) or QuestionType(UNKNOWN)


def _longest_spelling(words: list[str], names: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """The name of the longest spelling at the beginning, and the words after it."""
    for length in range(min(len(words), _MAX_TYPE_WORDS), 0, -1):
        if name := names.get("_".join(words[:length]).lower()):
            return name, words[length:]
    return None, words


def _parse_container(words: list[str]) -> QuestionType | None:
    name, rest = _longest_spelling(words, _EDGES_BY_SPELLING)
    if name is None:
        return None
    type_ = QuestionType(name)
    if not rest:
        return type_
    # pyxform ignores a list after the beginning of a group or a repeat, as in `begin repeat over fruits`.
    is_ignored_list = len(rest) == 1 or (len(rest) == 2 and rest[0].lower() == "over")
    return type_ if is_ignored_list and type_.begins in STANDARD_CONTAINERS else None


def _parse_list_type(words: list[str]) -> QuestionType | None:
    name, rest = _longest_spelling(words, _LIST_TYPES_BY_SPELLING)
    if name is None:
        return None
    or_other = tuple(word.lower() for word in rest[1:]) in _OR_OTHER_SPELLINGS
    if len(rest) > 1 and (not or_other or name == "begin_loop"):
        return None
    return QuestionType(name, rest[0] if rest else None, or_other)


def _parse_simple_type(spelling: str, words: list[str]) -> QuestionType | None:
    if name := _TYPES_BY_SPELLING.get(spelling):
        return QuestionType(name)
    if len(words) == 2 and words[0].lower() == "osm":
        return QuestionType("osm", words[1])
    return None
