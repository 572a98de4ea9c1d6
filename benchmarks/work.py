"""What the contenders are asked to do. To measure something else, add a `Work` to `WORKS`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Work:
    """One request, repeated for as long as a round lasts.

    A `script` (Lua, for wrk) may vary the request from one time to the next; the path, method and body given here
    are then the example by which the answers are compared before and after the load.
    """

    name: str
    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Accept": "application/json"})
    body: bytes = b""
    signed_in: bool = False
    script: Path | None = None

    def headers_for(self, token: str) -> dict[str, str]:
        """All headers of the request, signed with the contender's own token if the work asks for it."""
        signature = {"Authorization": f"Token {token}"} if self.signed_in else {}
        return {**self.headers, **signature}


WORKS = (
    Work(name="permission list", path="/api/v2/permissions/"),
    Work(name="permission detail", path="/api/v2/permissions/manage_asset/"),
    Work(name="permission list, with a token", path="/api/v2/permissions/", signed_in=True),
    # No answer kept from an earlier request can help here.
    Work(
        name="permission list, every URL new",
        path="/api/v2/permissions/?fresh=0",
        script=HERE / "fresh_urls.lua",
    ),
)
