"""The `type` column: which kind of question a row asks for, whichever of its many spellings was used.

parse("select one from yesno or other")  # QuestionType("select_one", list_name="yesno", or_other=True)
"""

import re
from difflib import get_close_matches
from functools import lru_cache

import msgspec

STANDARD_TYPES = frozenset(
    {
        "text",
        "integer",
        "decimal",
        "range",
        "date",
        "time",
        "datetime",
        "note",
        "image",
        "audio",
        "video",
        "file",
        "barcode",
        "acknowledge",
        "trigger",
        "percentage",
        "calculate",
        "hidden",
        "geopoint",
        "geotrace",
        "geoshape",
        "osm",
        "start",
        "end",
        "today",
        "deviceid",
        "phonenumber",
        "username",
        "email",
        "simserial",
        "subscriberid",
        "audit",
        "start-geopoint",
        "background-audio",
        "background-geopoint",
        "csv-external",
        "xml-external",
        "phone_number",
        "number_of_days_in_last_month",
        "number_of_days_in_last_six_months",
        "number_of_days_in_last_year",
        "uri:deviceid",
        "uri:phonenumber",
        "uri:username",
        "uri:email",
        "uri:simserial",
        "uri:subscriberid",
    }
)

# Rows of these types hold facts about the interview: nobody is asked, so they are not counted as questions.
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

# Nothing of these is shown, so nothing needs a label.
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

STANDARD_CONTAINERS = frozenset({"group", "repeat", "loop"})
# A compiler knows these with spaces only, and has a hint for each, so that they need no label. Unlike `phonenumber`, a
# fact of the device, `phone number` is a question.
_TYPES_WITH_SPACES = frozenset(
    {
        "phone_number",
        "number_of_days_in_last_month",
        "number_of_days_in_last_six_months",
        "number_of_days_in_last_year",
    }
)

KOBO_CONTAINERS = frozenset({"kobomatrix", "score", "rank"})
_BEGINS = {f"begin_{container}": container for container in STANDARD_CONTAINERS | KOBO_CONTAINERS}
_ENDS = {f"end_{container}": container for container in STANDARD_CONTAINERS | KOBO_CONTAINERS}
KOBO_TYPES = frozenset({"score__row", "rank__level"})

FILE_SELECT_TYPES = frozenset({"select_one_from_file", "select_multiple_from_file"})
LIST_TYPES = frozenset({"select_one", "select_multiple", "rank", "select_one_external", "begin_loop"})

EXTERNAL_TYPES = frozenset({"csv-external", "xml-external"})

# Rows of these types have no place of their own in the answers, and nothing can refer to them.
TYPES_WITHOUT_NODE = EXTERNAL_TYPES | {"audit"}

_TYPE_ALIASES = {
    "string": "text",
    "int": "integer",
    "photo": "image",
    "picture": "image",
    "gps": "geopoint",
    "location": "geopoint",
    "date_time": "datetime",
    "device_id": "deviceid",
    "imei": "deviceid",
    "get_phone_number": "phonenumber",
    "start_time": "start",
    "end_time": "end",
    "sim_id": "simserial",
    "subscriber_id": "subscriberid",
}

_LIST_TYPE_ALIASES = {
    "select_one": "select_one",
    "select1": "select_one",
    "select_one_from": "select_one",
    "select_one_using": "select_one",
    "add_select_one_prompt_using": "select_one",
    "select_multiple": "select_multiple",
    "select_multiple_from": "select_multiple",
    "select_multiple_using": "select_multiple",
    "select_all_that_apply": "select_multiple",
    "select_all_that_apply_from": "select_multiple",
    "add_select_multiple_prompt_using": "select_multiple",
    "select_one_external": "select_one_external",
    "select_one_from_file": "select_one_from_file",
    "select_multiple_from_file": "select_multiple_from_file",
    "rank": "rank",
    "begin_loop": "begin_loop",
    "begin_loop_over": "begin_loop",
}

_CONTAINER_TYPE = re.compile(r"(begin|end)_(?:(group)|(repeat|lgroup|looped_group)|(kobomatrix|score|rank))|end_loop")
_LEGACY_TYPE = re.compile(r"q_(.+)|add_(.+)_prompt|get_(.+)")
_OR_OTHER_SPELLINGS = {("or_other",), ("or", "other"), ("or", "specify", "other")}
_MAX_TYPE_WORDS = 5  # words
_MAX_SUGGESTION_CHARS = 80  # characters: comparing words is slow


class QuestionType(msgspec.Struct, frozen=True):
    """`list_name` is also the file of a select from a file, the tags of an osm question, and what a loop is over."""

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
    def is_kobo_only(self) -> bool:
        """Whether no tool but the live system understands it."""
        return self.name in KOBO_TYPES or (self.begins or self.ends) in KOBO_CONTAINERS

    @property
    def needs_label(self) -> bool:
        return self.is_visible and self.name not in _TYPES_WITH_SPACES

    @property
    def is_visible(self) -> bool:
        return not (self.name in HIDDEN_TYPES or self.begins or self.ends or self.is_kobo_only)

    @property
    def pyxform_type(self) -> str:
        """The type as a compiler of forms knows it; what only the live system knows becomes the nearest thing."""
        if container := self.begins or self.ends:
            edge = "begin" if self.begins else "end"
            over = f" over {self.list_name}" if self.list_name else ""
            return f"{edge} {container if container in STANDARD_CONTAINERS else 'group'}{over}"
        if self.name in KOBO_TYPES:
            return "text"
        if self.name in _TYPES_WITH_SPACES:
            return self.name.replace("_", " ")
        return " ".join(part for part in (self.name, self.list_name, "or_other" if self.or_other else None) if part)


@lru_cache(maxsize=256)  # a form of thousands of rows has a few types
def parse_question_type(text: str) -> QuestionType | None:
    """None for a type that nobody knows."""
    words = text.split()
    spelling = "_".join(words).lower()
    if container := _CONTAINER_TYPE.fullmatch(spelling):
        edge, group, repeat, live = container.groups()
        return QuestionType(f"{edge}_{group or live or (repeat and 'repeat')}" if edge else spelling)
    if spelling in KOBO_TYPES:
        return QuestionType(spelling)
    return _parse_list_type(words) or _parse_simple_type(spelling, words)


def suggest_question_type(text: str) -> str | None:
    """The known type that an unknown one was probably meant to be."""
    known = [
        *STANDARD_TYPES,
        *_LIST_TYPE_ALIASES.values(),
        "begin_group",
        "end_group",
        "begin_repeat",
        "end_repeat",
        "end_loop",
    ]
    words = text[:_MAX_SUGGESTION_CHARS].lower().split()
    for guess in ("_".join(words), *words[:1]):
        if close := get_close_matches(guess, known, n=1):
            return close[0]
    return None


def _parse_list_type(words: list[str]) -> QuestionType | None:
    for length in range(min(len(words), _MAX_TYPE_WORDS), 0, -1):
        name = _LIST_TYPE_ALIASES.get("_".join(words[:length]).lower())
        if name is None:
            continue
        rest = words[length:]
        or_other = tuple(word.lower() for word in rest[1:]) in _OR_OTHER_SPELLINGS
        if len(rest) > 1 and (not or_other or name == "begin_loop"):
            return None
        return QuestionType(name, rest[0] if rest else None, or_other)
    return None


def _parse_simple_type(spelling: str, words: list[str]) -> QuestionType | None:
    old = _LEGACY_TYPE.fullmatch(spelling)
    if old and spelling not in _TYPE_ALIASES:
        spelling = next(group for group in old.groups() if group)
    name = _TYPE_ALIASES.get(spelling, spelling)
    if name in STANDARD_TYPES:
        return QuestionType(name)
    if len(words) == 2 and words[0].lower() == "osm":
        return QuestionType("osm", words[1])
    return None
