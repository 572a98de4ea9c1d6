"""A provider of single sign-on on this machine: OpenID Connect with the authorization code flow and PKCE.

It does what the standard asks of a provider, with the functions of Authlib and joserfc. A test can make it do anything
else: change what it publishes, the claims and the signature of ID tokens, or the answer of an endpoint.

Sections in comments are of OpenID Connect Core 1.0, unless another document is named.
"""

import base64
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core.util import create_half_hash
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeySet, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

CLIENT_ID, CLIENT_SECRET = (
    "field gate",
    "s+e:c%ret",
)  # what Basic credentials must encode (RFC 6749, 2.3.1)
LIFETIME_SECONDS = 300

Values = Mapping[str, Any]
Answer = Callable[["ProviderRequest"], object]


@cache
def signing_key(alg: str, kid: str = "") -> Key:
    """A key for an algorithm, the same one each time. Making RSA keys takes a while."""
    parameters: Any = {"kid": kid or f"{alg} key", "use": "sig"}
    if alg.startswith(("RS", "PS")):
        return RSAKey.generate_key(2048, parameters)
    if alg.startswith("ES"):
        return ECKey.generate_key(f"P-{521 if alg == 'ES512' else alg[2:]}", parameters)
    return OKPKey.generate_key("Ed25519", parameters)


@dataclass
class Grant:
    """What a code stands for."""

    redirect_uri: str
    nonce: str
    challenge: str


@dataclass
class StandInProvider:
    """A provider. What the fields say is done, until a test changes them."""

    subject: str = "1234-5678"
    claims: dict[str, Any] = field(
        default_factory=lambda: {"preferred_username": "amina"}
    )  # of the ID token
    userinfo: dict[str, Any] = field(default_factory=dict)
    alg: str = "RS256"
    keys: list[Key] = field(default_factory=lambda: [signing_key("RS256")])  # the first one signs
    metadata: dict[str, Any] = field(
        default_factory=dict
    )  # in place of what it would publish; None: nothing
    registered: dict[str, Any] = field(
        default_factory=dict
    )  # in place of registered claims; None: nothing
    header: dict[str, Any] = field(default_factory=dict)
    response: dict[str, str | None] = field(default_factory=dict)  # of the authorization endpoint
    token_answer: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)  # of paths, in place of the usual ones
    sign: Callable[[Values, Values], str] | None = None
    clock_difference: int = 0
    requests: list["ProviderRequest"] = field(default_factory=list)
    _grants: dict[str, Grant] = field(default_factory=dict)
    _access_tokens: set[str] = field(default_factory=set)

    def __enter__(self) -> "StandInProvider":
        outer = self

        class Handler(ProviderRequest):
            provider = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._server.server_port}/realms/field"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening: connections are refused from now on."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def paths(self) -> list[str]:
        """What was requested."""
        return [urlsplit(each.path).path.removeprefix("/realms/field") for each in self.requests]

    # What a provider does, by path

    def configuration(self) -> Values:
        """OpenID Connect Discovery 1.0, section 3."""
        published = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/logout",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "authorization_response_iss_parameter_supported": True,
        }
        return _merged(published, self.metadata)

    def authorize(self, query: Values) -> str:
        """Return where the browser is sent to. The person is logged in here, and allows everything (3.1.2.1)."""
        required = {
            "response_type": "code",
            "client_id": CLIENT_ID,
            "code_challenge_method": "S256",
        }
        assert {name: query[name] for name in required} == required
        assert "openid" in query["scope"].split()
        code = secrets.token_urlsafe()
        self._grants[code] = Grant(query["redirect_uri"], query["nonce"], query["code_challenge"])
        response = _merged(
            {"code": code, "state": query["state"], "iss": self.issuer}, self.response
        )
        return f"{query['redirect_uri']}?{urlencode(response)}"

    def exchange(self, body: Values, authorization: str) -> tuple[int, Values]:
        """The token endpoint (3.1.3)."""
        name, _, secret = (
            base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        )
        sent = (
            (unquote_plus(name), unquote_plus(secret))
            if authorization
            else _posted_credentials(body)
        )
        if sent != (CLIENT_ID, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}
        grant = self._grants.pop(body["code"], None)  # a code is for one use
        if (
            grant is None
            or body["grant_type"] != "authorization_code"
            or grant.redirect_uri != body["redirect_uri"]
            or grant.challenge != create_s256_code_challenge(body["code_verifier"])
        ):
            return 400, {"error": "invalid_grant"}
        access_token = secrets.token_urlsafe()
        self._access_tokens.add(access_token)
        answer = {
            "access_token": access_token,
            "token_type": "Bearer",
            "expires_in": LIFETIME_SECONDS,
            "id_token": self.id_token(grant.nonce, access_token),
        }
        return 200, _merged(answer, self.token_answer)

    def id_token(self, nonce: str, access_token: str) -> str:
        """An ID token (section 2), with a hash of the access token (3.1.3.6)."""
        issued = int(time.time()) + self.clock_difference
        registered = {
            "iss": self.issuer,
            "sub": self.subject,
            "aud": CLIENT_ID,
            "exp": issued + LIFETIME_SECONDS,
            "iat": issued,
            "nonce": nonce,
            "at_hash": create_half_hash(
                access_token, "EdDSA" if self.alg == "Ed25519" else self.alg
            ).decode(),
        }
        claims = {**self.claims, **_merged(registered, self.registered)}
        header = _merged({"alg": self.alg, "kid": self.keys[0].kid}, self.header)
        if self.sign is not None:
            return self.sign(header, claims)
        registry = JWSRegistry(algorithms=[self.alg], strict_check_header=False)
        return jwt.encode(dict(header), dict(claims), self.keys[0], registry=registry)

    def person(self, authorization: str) -> tuple[int, Values]:
        """The UserInfo endpoint (5.3)."""
        if authorization.removeprefix("Bearer ") not in self._access_tokens:
            return 401, {"error": "invalid_token"}
        return 200, {"sub": self.subject, **self.userinfo}


class ProviderRequest(BaseHTTPRequestHandler):
    """One request to a provider."""

    provider: StandInProvider
    body: bytes = b""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def send_json(self, value: object, status: int = 200) -> None:
        self.send_bytes(json.dumps(value).encode(), status, {"Content-Type": "application/json"})

    def send_bytes(
        self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Length": str(len(body)),
            "Connection": "close",
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_redirect(self, location: str, status: int = 303) -> None:
        self.send_bytes(b"{}", status, {"Location": location})

    def send_endlessly(self) -> None:
        """Send white space until the other side closes the connection."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" " * 65536)
        except OSError:
            self.close_connection = True

    def _answer(self) -> None:
        provider, parts = self.provider, urlsplit(self.path)
        path = parts.path.removeprefix("/realms/field")
        provider.requests.append(self)
        authorization = self.headers.get("Authorization", "")
        if path in provider.answers:
            provider.answers[path](self)
        elif path == "/.well-known/openid-configuration":
            self.send_json(provider.configuration())
        elif path == "/keys":
            self.send_json(KeySet(provider.keys).as_dict(private=False))
        elif path == "/authorize":
            self.send_redirect(provider.authorize(dict(parse_qsl(parts.query))))
        elif path == "/token":
            status, answer = provider.exchange(dict(parse_qsl(self.body.decode())), authorization)
            self.send_json(answer, status)
        elif path == "/userinfo":
            status, answer = provider.person(authorization)
            self.send_json(answer, status)
        else:
            self.send_json({}, 404)

    def log_message(self, *_: object) -> None:
        pass


def _posted_credentials(body: Values) -> tuple[str, str]:
    return body.get("client_id", ""), body.get("client_secret", "")


def _merged(values: Values, changes: Values) -> dict[str, Any]:
    """Values with changes; what is None there is left out."""
    return {name: value for name, value in {**values, **changes}.items() if value is not None}
