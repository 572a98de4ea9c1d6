"""The `type` column: which kind of question a row asks for, whichever of its many spellings was used.

parse("select one from yesno or other")  # QuestionType("select_one", list_name="yesno", or_other=True)
"""

import re
from difflib import get_close_matches
from functools import lru_cache

import msgspec

STANDARD = frozenset(
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
    }
)

# Rows of these types hold facts about the interview: nobody is asked, so they are not counted as questions.
METADATA = frozenset({"start", "today", "end", "deviceid", "phonenumber", "audit", "username", "start-geopoint"})

GEOGRAPHIC = frozenset({"geopoint", "geotrace", "geoshape"})

# Nothing of these is shown, so nothing needs a label.
UNSEEN = METADATA | {
    "calculate",
    "hidden",
    "email",
    "simserial",
    "subscriberid",
    "background-audio",
    "background-geopoint",
    "csv-external",
    "xml-external",
}

STANDARD_CONTAINERS = frozenset({"group", "repeat", "loop"})
LIVE_CONTAINERS = frozenset({"kobomatrix", "score", "rank"})
_BEGINS = {f"begin_{container}": container for container in STANDARD_CONTAINERS | LIVE_CONTAINERS}
_ENDS = {f"end_{container}": container for container in STANDARD_CONTAINERS | LIVE_CONTAINERS}
LIVE_ONLY = frozenset({"score__row", "rank__level"})

FROM_FILE = frozenset({"select_one_from_file", "select_multiple_from_file"})
FROM_LIST = frozenset({"select_one", "select_multiple", "rank", "select_one_external", "begin_loop"})

_ALIASES = {
    "string": "text",
    "int": "integer",
    "photo": "image",
    "picture": "image",
    "gps": "geopoint",
    "location": "geopoint",
    "date_time": "datetime",
    "device_id": "deviceid",
    "imei": "deviceid",
    "phone_number": "phonenumber",
    "start_time": "start",
    "end_time": "end",
    "sim_id": "simserial",
    "subscriber_id": "subscriberid",
}

_WITH_LIST = {
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

_CONTAINER = re.compile(r"(begin|end)_(?:(group)|(repeat|lgroup|looped_group)|(kobomatrix|score|rank))|end_loop")
_OLD_WORDING = re.compile(r"q_(.+)|add_(.+)_prompt|get_(.+)|uri:(.+)")
_OTHER = {("or_other",), ("or", "other"), ("or", "specify", "other")}
_LONGEST_WORDING = 5  # words
_LONGEST_GUESSED = 80  # characters: comparing words is slow


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
    def only_live(self) -> bool:
        """Whether no tool but the live system understands it."""
        return self.name in LIVE_ONLY or (self.begins or self.ends) in LIVE_CONTAINERS

    @property
    def needs_label(self) -> bool:
        return not (self.name in UNSEEN or self.begins or self.ends or self.only_live)

    @property
    def compiled(self) -> str:
        """The type as a compiler of forms knows it; what only the live system knows becomes the nearest thing."""
        if container := self.begins or self.ends:
            edge = "begin" if self.begins else "end"
            over = f" over {self.list_name}" if self.list_name else ""
            return f"{edge} {container if container in STANDARD_CONTAINERS else 'group'}{over}"
        if self.name in LIVE_ONLY:
            return "text"
        return " ".join(part for part in (self.name, self.list_name, "or_other" if self.or_other else None) if part)


@lru_cache(maxsize=256)  # a form of thousands of rows has a few types
def parse(text: str) -> QuestionType | None:
    """None for a type that nobody knows."""
    words = text.split()
    spelling = "_".join(words).lower()
    if container := _CONTAINER.fullmatch(spelling):
        edge, group, repeat, live = container.groups()
        return QuestionType(f"{edge}_{group or live or (repeat and 'repeat')}" if edge else spelling)
    if spelling in LIVE_ONLY:
        return QuestionType(spelling)
    return _with_list(words) or _simple(spelling, words)


def nearest(text: str) -> str | None:
    """The known type that an unknown one was probably meant to be."""
    known = [*STANDARD, *_WITH_LIST.values(), "begin_group", "end_group", "begin_repeat", "end_repeat", "end_loop"]
    words = text[:_LONGEST_GUESSED].lower().split()
    for guess in ("_".join(words), *words[:1]):
        if close := get_close_matches(guess, known, n=1):
            return close[0]
    return None


def _with_list(words: list[str]) -> QuestionType | None:
    for length in range(min(len(words), _LONGEST_WORDING), 0, -1):
        name = _WITH_LIST.get("_".join(words[:length]).lower())
        if name is None:
            continue
        rest = words[length:]
        or_other = tuple(word.lower() for word in rest[1:]) in _OTHER
        if len(rest) > 1 and (not or_other or name == "begin_loop"):
            return None
        return QuestionType(name, rest[0] if rest else None, or_other)
    return None


def _simple(spelling: str, words: list[str]) -> QuestionType | None:
    if old := _OLD_WORDING.fullmatch(spelling):
        spelling = next(group for group in old.groups() if group)
    name = _ALIASES.get(spelling, spelling)
    if name in STANDARD:
        return QuestionType(name)
    if len(words) == 2 and words[0].lower() == "osm":
        return QuestionType("osm", words[1])
    return None
