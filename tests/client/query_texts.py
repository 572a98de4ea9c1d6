"""What the queries for R, Excel and Power BI in the recipes would request, read from their text.

These programs are not part of the tests. Addresses, parameters, headers, the fields of the answers and the columns of
the tables are literal in the texts, so that tests can send the same requests and look at the answers.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


class QueryText(NamedTuple):
    """Expressions of values are still text: `"12"`, or `Text.From(offset)`."""

    address: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    fields: set[str]  # of the envelope
    columns: list[str]

    def parameters(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The parameters of a request, with the values of variables."""
        return {name: _evaluate(expression, variables) for name, expression in self.query.items()}

    def header_values(self) -> dict[str, str]:
        return {name: _evaluate(expression, {}) for name, expression in self.headers.items()}


def read_m(text: str) -> QueryText:
    """A query in the language M of Excel and Power BI."""
    address = _only(r'"(https?://[^"]+)"', text)
    options = _bracketed(text, text.index("[", text.index("Web.Contents(")))
    columns = re.search(r"Table\.(?:FromRecords|SelectColumns)\(\s*\w+,\s*\{([^}]*)\}", text)
    assert columns
    return QueryText(
        address,
        "/" + _only(r'RelativePath = "([^"]+)"', options),
        _assignments(_bracketed(options, options.index("[", options.index("Query =")))),
        _assignments(_bracketed(options, options.index("[", options.index("Headers =")))),
        set(re.findall(r"Answer\[(\w+)\]", text)),
        re.findall(r'"([^"]+)"', columns[1]),
    )


def read_r(text: str) -> QueryText:
    """A call of `read_list` in R, with the function itself."""
    call = _bracketed(text, text.index("(", text.index("<- read_list(")))
    path, _, filters = call.partition(",")
    pages = _bracketed(text, text.index("(", text.index("req_url_query("))).removeprefix("...,")
    headers = _bracketed(text, text.index("(", text.index("req_headers(")))
    columns = re.search(r"head\(floods\[c\(([^)]*)\)\]\)", text)
    assert columns
    return QueryText(
        _only(r'request\("([^"]+)"\)', text),
        path.strip().strip('"'),
        {**_assignments(filters), **_assignments(pages)},
        _assignments(headers),
        {*re.findall(r"page\$(\w+)", text), *re.findall(r'page\[\["(\w+)"\]\]', text)},
        re.findall(r'"([^"]+)"', columns[1]),
    )


def _bracketed(text: str, start: int) -> str:
    """What is between the bracket at `start` and the one that closes it. Brackets in texts do not count."""
    depth, is_quoted = 0, False
    for position in range(start, len(text)):
        character = text[position]
        if character == '"':
            is_quoted = not is_quoted
        elif not is_quoted and character in "([{":
            depth += 1
        elif not is_quoted and character in ")]}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : position]
    raise AssertionError(f"not closed: {text[start : start + 40]}")


def _assignments(text: str) -> dict[str, str]:
    """`name = expression, …`, also with names in quotes as in `#"Accept-Language"`."""
    parts, depth, is_quoted, part = [], 0, False, ""
    for character in f"{text},":
        is_quoted ^= character == '"'
        depth += 0 if is_quoted else (character in "([{") - (character in ")]}")
        if character == "," and depth == 0 and not is_quoted:
            parts.append(part)
            part = ""
        else:
            part += character
    pairs = [part.split("=", 1) for part in parts if part.strip()]
    return {name.strip().lstrip("#").strip('"'): expression.strip() for name, expression in pairs}


def _evaluate(expression: str, variables: Mapping[str, str]) -> str:
    if literal := re.fullmatch(r'"([^"]*)"|(\d+)', expression):
        return literal[1] if literal[1] is not None else literal[2]
    called = re.fullmatch(r"(?:Text\.From|DateTime\.ToText)\((\w+)(?:, .*)?\)", expression)
    name = called[1] if called else expression
    return variables[name]


def _only(pattern: str, text: str) -> str:
    (found,) = re.findall(pattern, text)
    return str(found)
