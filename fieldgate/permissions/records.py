"""What a permission looks like on the wire."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fieldgate.http.links import Link


class PermissionRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="Address of this permission.")]
    codename: Annotated[str, Meta(description="Identifier of the permission, and key of its address.")]
    implied: Annotated[
        list[Link],
        Meta(description="Permissions granted automatically with this one, in no particular order."),
    ]
    contradictory: Annotated[
        list[Link], Meta(description="Permissions removed when this one is assigned, in no particular order.")
    ]
    name: Annotated[str, Meta(description="What the permission allows, in the language of the answer.")]
