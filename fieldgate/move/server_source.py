"""A KoboToolbox server or another Fieldgate as a source, read with the client library."""

from collections import Counter
from collections.abc import Awaitable
from typing import TypeVar

import msgspec
from fieldgate_client import AsyncClient
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.errors import FieldgateError, RequestFailed, UnexpectedResponse
from fieldgate_client.retries import RETRY_STATUSES

from fieldgate.move.source_assets import (
    MAX_SHOWN_CHARS,
    AssignmentRow,
    ListedAsset,
    ListedRecord,
    MoveError,
    Source,
    SourceRecord,
    UnreadableAsset,
    collections_first,
    is_uid,
)

PAGE_SIZE = 200  # a record of KoboToolbox takes 6 ms and 6 kB
MAX_ASSETS = 1_000_000

Answer = TypeVar("Answer")
# Other errors are about one asset: KoboToolbox answers 500 for an asset that it cannot show, however often it is asked.
_ABOUT_ALL = {401, *RETRY_STATUSES} - {500}


class _Account(msgspec.Struct):
    username: str | None = None


class ServerSource(Source):
    def __init__(self, url: str, tokens: dict[str, str], options: ConnectionOptions) -> None:
        """`tokens` by username, which can be empty."""
        try:
            self._clients = [
                AsyncClient(url, each, page_size=PAGE_SIZE, options=options)
                for each in tokens.values()
            ]
        except FieldgateError as error:
            raise MoveError(str(error)) from None
        self.accounts: list[str] = list(tokens)
        self.name = self._clients[0].connection.server
        self.refused: list[str] = []

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    async def list_assets(self) -> list[ListedAsset]:
        found: dict[str, ListedAsset] = {}
        others = Counter[str]()  # numbers of assets by owner
        decode = msgspec.json.Decoder(ListedRecord).decode
        for account, client in enumerate(self._clients):
            username = self.accounts[account] = await self._check_account(account, client)
            try:
                async for page in client.list("assets/").raw_pages():
                    for each in map(decode, page):
                        owner = each.owner__username or ""
                        if not is_uid(each.uid):
                            self.refused.append(
                                f"The uid {each.uid[:MAX_SHOWN_CHARS]!r} is not valid."
                            )
                        elif owner == username:
                            found[each.uid] = ListedAsset(each.uid, owner, each.asset_type, account)
                        else:
                            others[owner[:MAX_SHOWN_CHARS]] += 1
                    if len(found) + others.total() + len(self.refused) > MAX_ASSETS:
                        raise MoveError(f"{self.name} lists more than {MAX_ASSETS} assets.")
            except (FieldgateError, ValueError) as error:
                raise MoveError(f"The list of assets cannot be read: {error}") from None
        for owner in others.keys() - set(self.accounts):
            self.refused.append(
                f"Belong to {owner}, and are moved with that account: {others[owner]}."
            )
        return collections_first(list(found.values()))

    async def _check_account(self, account: int, client: AsyncClient) -> str:
        username = (await _sent(client.connection.fetch_json("/me/", _Account))).username
        if not username:
            raise MoveError(
                f"{self.name} does not say whose token this is. Is it the token of an account there?"
            )
        if self.accounts[account] not in ("", username):
            raise MoveError(f"The token for {self.accounts[account]} belongs to another account.")
        return username

    async def read_record(self, listed: ListedAsset) -> SourceRecord:
        connection = self._clients[listed.account].connection
        return await _sent(
            connection.fetch_json(f"assets/{listed.uid}/", SourceRecord), is_asset=True
        )

    async def read_rows(self, listed: ListedAsset, uid: str) -> list[AssignmentRow]:
        connection, path = (
            self._clients[listed.account].connection,
            f"assets/{uid}/permission-assignments/",
        )
        return await _sent(
            connection.fetch_json(path, list[AssignmentRow], {"teams": "true"}), is_asset=True
        )

    async def says_inherited(self, listed: ListedAsset) -> bool:
        """Rows of KoboToolbox do not say it."""
        return await _sent(self._clients[listed.account].connection.is_fieldgate())


async def _sent(request: Awaitable[Answer], *, is_asset: bool = False) -> Answer:
    """What was requested. Errors end the run, but for those that are about the one asset that was requested."""
    try:
        return await request
    except FieldgateError as error:
        is_request = isinstance(error, RequestFailed)
        if is_asset and (
            error.status not in _ABOUT_ALL if is_request else isinstance(error, UnexpectedResponse)
        ):
            raise UnreadableAsset(error.message) from None
        is_final = is_request and error.status not in RETRY_STATUSES
        advice = "" if is_final else " Run the command again later: it continues where it stopped."
        raise MoveError(f"{str(error).rstrip('.')}.{advice}") from None
