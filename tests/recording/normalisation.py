"""Replace what differs between two recordings of the same code: uids, times, tokens, hashes, ports."""

import csv
import hashlib
import io
import json
import re
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import openpyxl

UID = re.compile(
    r"(?:(?<=%2F)|(?<=%3A)|(?<![A-Za-z0-9]))[a-z](?=[a-z]*[A-Z0-9])[A-Za-z0-9]{21}(?![A-Za-z0-9])"
)
HOST = re.compile(r"127\.0\.0\.1(?::|%3A)\d+")
TOKEN = re.compile(r"\bfg[a-z]_[\w-]*")
HASH = re.compile(r'\b(?:(?<=[>"])[0-9a-f]{16}|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,64})\b')
TIME = re.compile(r"\b(20\d\d-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(\.\d+)?)?(?:Z|\+00:00)?")
TIME_ELEMENT = re.compile(r'<time [^>]*datetime="<time>"[^>]*>.*?</time>', re.DOTALL)
# "5 minutes ago" in the four languages
AGO = re.compile(
    r"\d+ (?:second|minute|hour)s? ago|il y a \d+ (?:seconde|minute|heure)s?|hace \d+ (?:segundo|minuto|hora)s?"
    r"|قبل [^<]*(?:ثان|ثوان|دقيق|دقائق|ساع)[^<]*"
)
CLOCK = re.compile(r"\b\d{1,2}:\d\d(?:\s?(?:AM|PM|ص|م))? UTC")
# The JSON that pages show is cut off somewhere, perhaps within a uid.
SHOWN_RANDOM = re.compile(
    r'((?:\$kuid|request_id)&quot;</b>: <span class="string">&quot;)[^&]*'
    r'|(uid&quot;</b>: <span class="string">&quot;)[a-z][A-Za-z0-9]{0,20}(?=&quot;)'
    r"|(check-)[0-9a-f]{8}(?=-)"
    r'|(/)[a-z](?=[a-z]*[A-Z0-9])[A-Za-z0-9]{1,20}(?="|&quot;)'
)
SECRET_FIELD = re.compile(r'(name="(?:csrf_token|key)" value=")[^"]*')
FRESH = re.compile(r"\b([Ff]resh)[ _]?\d+\b")
TOKEN_PATH = re.compile(r"/tokens/\d+")
PRESENT_HEADERS = frozenset(
    {"etag", "content-length", "fieldgate-data-version"}
)  # their values are random
IGNORED_HEADERS = frozenset(
    {"date", "x-request-id", "ratelimit", "ratelimit-policy", "connection", "transfer-encoding"}
)
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
RANDOM_KEYS = frozenset({"$kuid", "request_id"})


class Normaliser:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        now = datetime.now(UTC)
        self._recent = {str((now + timedelta(days=days)).date()) for days in (-1, 0, 1)}

    def name(self, uid: str, name: str) -> None:
        """From now on, show a uid as a name."""
        self._names[uid] = f"<{name}>"

    def text(self, text: str) -> str:
        text = HOST.sub("HOST", text)
        text = TOKEN.sub("<token>", text)
        text = UID.sub(lambda match: self._names.get(match[0], "<uid>"), text)
        text = TIME.sub(self._time, text)
        text = HASH.sub("<hash>", text)
        text = FRESH.sub(r"<\1>", text)
        return TOKEN_PATH.sub("/tokens/<id>", text)

    def _time(self, match: re.Match[str]) -> str:
        is_now = match[1] in self._recent or match[2] is not None
        return "<time>" if is_now else match[0]

    def headers(self, headers: httpx.Headers) -> dict[str, str]:
        kept = {}
        for name, value in headers.items():
            if name in IGNORED_HEADERS:
                continue
            if name in PRESENT_HEADERS:
                kept[name] = "<present>"
            elif name == "set-cookie":
                kept[name] = re.sub(r"=[^;,]*", "=<value>", value)
            elif name == "content-security-policy":
                kept[name] = re.sub(r"'(nonce|sha\d+)-[^']*'", r"'<\1>'", value)
            else:
                kept[name] = self.text(value)
        return kept

    def body(self, response: httpx.Response) -> Any:
        """The body in a form that can be compared: JSON, lines, cells of a workbook, names in a zip file."""
        content = response.content
        media_type = response.headers.get("content-type", "").split(";")[0]
        if not content:
            return None
        if media_type == SHEET or (
            media_type == "application/octet-stream" and content.startswith(b"PK")
        ):
            return self._cells(content)
        if media_type == "application/zip":
            return sorted(
                self.text(name) for name in zipfile.ZipFile(io.BytesIO(content)).namelist()
            )
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return hashlib.sha256(content).hexdigest()
        text = self.text(text)
        if media_type.endswith("json") and media_type != "application/x-ndjson":
            return _without_random(json.loads(text))
        if media_type == "application/x-ndjson":
            return [_without_random(json.loads(line)) for line in text.splitlines()]
        if media_type == "text/csv":
            return list(csv.reader(io.StringIO(text)))
        if media_type == "text/html":
            text = CLOCK.sub("<clock>", AGO.sub("<ago>", text))
            text = SHOWN_RANDOM.sub(r"\1\2\3\4<random>", text)
            text = SECRET_FIELD.sub(r"\1<secret>", TIME_ELEMENT.sub("<time></time>", text))
        elif response.url.path.startswith("/metrics"):
            return sorted(line for line in text.splitlines() if line.startswith("#"))
        return text.splitlines()

    def _cells(self, content: bytes) -> dict[str, list[list[str]]]:
        book = openpyxl.load_workbook(io.BytesIO(content))
        return {
            sheet.title: [
                [
                    self.text(str(cell.value))
                    + (f" [{self.text(cell.comment.text)}]" if cell.comment else "")
                    for cell in row
                ]
                for row in sheet.iter_rows()
            ]
            for sheet in book
        }


def _without_random(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "<random>" if key in RANDOM_KEYS else _without_random(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_without_random(item) for item in value]
    return value
