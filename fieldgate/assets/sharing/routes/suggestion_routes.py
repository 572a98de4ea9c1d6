"""`GET /api/v2/permission-assignments/suggestions/`: people and teams to share with."""

from collections import Counter
from typing import Annotated

import msgspec
from msgspec import Meta

from fieldgate.accounts.schemas import user_path
from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.assets.schemas import team_path
from fieldgate.assets.sharing.schemas import BATCH_PATH, TAG
from fieldgate.assets.sharing.suggestions import SuggestionStore
from fieldgate.http.links import Link
from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest

routes = Routes(tag=TAG, scope=Scope.READ)


class SuggestionRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the user or team.")]
    user: Annotated[
        str, Meta(description="What to send as `user`: the username, or team: and the name or uid.")
    ]
    name: Annotated[str, Meta(description="The username, or the name of the team.")]


@routes.get_list(
    BATCH_PATH + "suggestions/",
    response=SuggestionRecord,
    title=Message("People and teams to share with"),
    description=Message(
        "Whom you may know: the teams that you are in and their members, and people with access to your own assets. "
        "Teams come first, both by name."
    ),
    no_store=True,
)
async def suggestion_list(
    page: PageRequest, user: User, store: SuggestionStore
) -> ListResult[SuggestionRecord]:
    total, rows = await store.page(user, page)
    names = Counter(username_key(row.name) for row in rows if row.team_id is not None)
    return ListResult(
        total,
        [
            SuggestionRecord(
                url=Link(user_path(row.username)), user=row.username, name=row.username
            )
            if row.team_id is None
            else SuggestionRecord(
                url=Link(team_path(row.uid)),
                user=TEAM_PREFIX + (row.name if names[username_key(row.name)] == 1 else row.uid),
                name=row.name,
            )
            for row in rows
        ],
    )
