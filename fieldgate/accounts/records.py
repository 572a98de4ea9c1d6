"""What tokens and log-ins look like on the wire."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta


class TokenRecord(msgspec.Struct, frozen=True):
    token: Annotated[str, Meta(description="The fresh token. It is shown this once; only a hash is stored.")]


class Login(msgspec.Struct, frozen=True):
    username: Annotated[str, Meta(description="Username, whatever the case.", max_length=150)]
    password: Annotated[str, Meta(description="Password.", max_length=1000)]


class LoginRecord(msgspec.Struct, frozen=True):
    token: Annotated[str, Meta(description="The fresh token.")]
    username: Annotated[str, Meta(description="Username, as it was sent.")]
    first: Annotated[str, Meta(description="First name, maybe empty.")]
    last: Annotated[str, Meta(description="Last name, maybe empty.")]
    expires: Annotated[datetime, Meta(description="When the token stops working.")]
    id: Annotated[int, Meta(description="Number of the user.")]
