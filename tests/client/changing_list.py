"""A list that changes while it is read, with the habits of the servers that the client knows."""

import random
from collections.abc import Iterable
from typing import Any

import msgspec
from fieldgate_client.pages import Page

encode = msgspec.json.encode


class ChangingList:
    """Serves pages of records. Before each page, `changes` of the next step are applied.

    A record is an id with a rank, which is the order of the list. A change is ("add", id, rank), ("remove", id) or
    ("move", id, rank).
    """

    def __init__(
        self,
        ranks: dict[int, int],
        *,
        max_limit: int = 1000,
        has_version: bool = True,
        is_fieldgate: bool = True,
        is_total: bool = True,
        changes: Iterable[list[tuple[Any, ...]]] = (),
        seed: int = 0,
    ) -> None:
        self.ranks = dict(ranks)
        self.always = set(ranks)  # in the list all the time
        self.ever = set(ranks)
        self.requests: list[tuple[int, int, str]] = []
        self._max_limit = max_limit
        self._has_version = has_version
        self._is_fieldgate = is_fieldgate
        self._is_total = is_total
        self._changes = iter(changes)
        self._version = 0
        self._random = random.Random(seed)

    def change(self) -> None:
        for kind, id_, *rank in next(self._changes, []):
            if kind == "remove":
                self.ranks.pop(id_, None)
                self.always.discard(id_)
            elif kind == "add" or id_ in self.ranks:
                self.ranks[id_] = rank[0]
                self.ever.add(id_)
            self._version += 1

    async def fetch_page(self, offset: int, limit: int, ordering: str) -> Page:
        self.change()
        self.requests.append((offset, limit, ordering))
        limit = min(limit, self._max_limit)
        if ordering and self._is_fieldgate:
            ids = sorted(self.ranks)
        elif self._is_total:
            ids = sorted(self.ranks, key=lambda id_: (self.ranks[id_], id_))
        else:
            ids = sorted(self.ranks, key=lambda id_: (self.ranks[id_], self._random.random()))
        found = ids[offset : offset + limit]
        return Page(
            offset,
            [msgspec.Raw(encode({"id": id_})) for id_ in found],
            [*found],
            len(ids),
            offset + limit < len(ids),
            limit if offset + limit < len(ids) else max(1, len(found)),
            self._is_fieldgate,
            str(self._version) if self._has_version else "",
        )
