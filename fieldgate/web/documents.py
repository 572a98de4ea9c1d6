"""The guide and the recipes as pages: Markdown of the folder docs, in the language in which it is written."""

import re
from functools import cache
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from markdown_it.token import Token

# In an installed package, and in the repository.
FOLDERS = (Path(__file__).parent / "document_files", Path(__file__).parents[2] / "docs")
DOCUMENTS = ("guide", "recipes")
LANGUAGE = "en"
EXAMPLE_URL = "http://127.0.0.1:8000"  # in examples, instead of the address of this service

_LINK = re.compile(rf"({'|'.join(DOCUMENTS)})\.md(#.*)?")


class Document(msgspec.Struct, frozen=True):
    title: str
    html: str
    sections: list[tuple[str, str]]  # id and title


@cache
def load_document(name: str) -> Document:
    from markdown_it import MarkdownIt  # 2 MB of a process that may never show a document

    parser = MarkdownIt("commonmark").enable("table")
    [file] = [folder / f"{name}.md" for folder in FOLDERS if (folder / f"{name}.md").is_file()][:1]
    tokens = parser.parse(file.read_text(encoding="utf-8"))
    titles: dict[str, list[tuple[str, str]]] = {"h1": [], "h2": []}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            text = "".join(each.content for each in tokens[place + 1].children or ())
            token.attrSet("id", _slug(text))
            titles.setdefault(token.tag, []).append((_slug(text), text))
        token.children = _with_links(token.children) if token.children else token.children
    [(_, title)] = titles["h1"]
    html = parser.renderer.render(tokens[3:], parser.options, {})  # without the title
    return Document(title, _with_scrolling(html), titles["h2"])


def _slug(title: str) -> str:
    """The id of a heading, as links to it are written."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _with_links(tokens: "list[Token]") -> "list[Token]":
    """Links between these documents lead to their pages. Other documents are named by file; pictures are left out."""
    kept, is_link, href = [], False, ""
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrGet("href"))
            found = _LINK.fullmatch(href)
            is_link = found is not None or href.startswith(("#", "https://"))
            if found:
                token.attrSet("href", f"../{found[1]}/{found[2] or ''}")
        if token.type == "link_close" and not is_link:
            token.type, token.tag, token.nesting, token.content = (
                "text",
                "",
                0,
                f" ({normpath('docs/' + href.partition('#')[0])})",
            )
        if token.type == "image" or (token.type == "link_open" and not is_link):
            continue
        kept.append(token)
    return kept


def _with_scrolling(html: str) -> str:
    """Wide tables and code are scrolled, also with the keyboard."""
    parts = html.split("<table>")
    opened = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="Table {number}"><table>{part}'
        for number, part in enumerate(parts[1:], 1)
    )
    return (
        "".join([parts[0], *opened])
        .replace("</table>", "</table></div>")
        .replace("<pre>", '<pre tabindex="0">')
    )
