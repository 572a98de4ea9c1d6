"""The protocol: OpenID Connect with the authorization code flow, PKCE, state and nonce.

client = OIDCClient(provider, redirect_uri)
url = await client.authorization_url(state=…, nonce=…, verifier=…, language="fr")
claims = await client.read_claims(code, nonce=…, verifier=…)

Authlib and joserfc build the requests and check signatures and claims. This module reads what the provider publishes,
when it is needed and not earlier, within limits of size and time. Import it only when somebody logs in this way: the
libraries take a while to load.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import quote_plus

import httpx
import msgspec
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from fieldgate.errors import BadRequest, ServiceUnavailable
from fieldgate.http.links import encode_query
from fieldgate.i18n.messages import Message
from fieldgate.overload import Slots
from fieldgate.providers import DISCOVERY_PATH, Provider, is_safe_url

# Signatures with a public key. The others could be made by somebody who knows that key (HS256), or by anybody (none).
ALGORITHMS = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
]
CLOCK_DIFFERENCE = 60  # seconds
MAX_RESPONSE_BYTES = 1024 * 1024
TIMEOUT_SECONDS = 10
MAX_LOGINS = 60  # that ask a provider at a time
MAX_LOGINS_PER_CALLER = 20
METADATA_SECONDS = 3600  # how long the description of a provider is used, and its keys

log = logging.getLogger(__name__)


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider publishes about itself (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    token_endpoint_auth_methods_supported: list[str] = []
    authorization_response_iss_parameter_supported: bool = False


class _ProviderFault(Exception):
    """The provider cannot be reached, or answers something else than the standard says."""


class OIDCClient:
    def __init__(self, provider: Provider, redirect_uri: str) -> None:
        self._provider = provider
        self._redirect_uri = redirect_uri
        self._http = httpx.AsyncClient(
            timeout=TIMEOUT_SECONDS,
            limits=httpx.Limits(max_connections=MAX_LOGINS),
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            cookies=CookieJar(
                DefaultCookiePolicy(allowed_domains=())
            ),  # none: they would be those of another person
        )
        # A login that asks a provider holds a place. Who waits for the provider counts as a request in work: while it
        # is slow, these must not be all that are allowed, and those of one address not all of these.
        self.places = Slots(MAX_LOGINS, MAX_LOGINS_PER_CALLER, max_waiting_per_caller=0)
        self._metadata: Metadata | None = None
        self._metadata_until = 0.0
        self._keys: KeySet | None = None

    async def authorization_url(
        self, *, state: str, nonce: str, verifier: str, language: str
    ) -> str:
        """Where the browser goes to log in."""
        metadata = await self.metadata()
        url: str = prepare_grant_uri(
            metadata.authorization_endpoint,
            client_id=self._provider.client_id,
            response_type="code",
            redirect_uri=self._redirect_uri,
            scope=" ".join(self._provider.scopes),
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
            ui_locales=language,
        )
        return url

    async def logout_url(self, back_to: str) -> str:
        """Where the browser goes to log out at the provider; empty if it offers none."""
        endpoint = (await self.metadata()).end_session_endpoint
        if not is_safe_url(endpoint):
            return ""
        query = encode_query(
            [("client_id", self._provider.client_id), ("post_logout_redirect_uri", back_to)]
        )
        return endpoint + ("&" if "?" in endpoint else "?") + query

    async def check_issuer(self, issuer: str | None) -> None:
        """Refuse a response of another provider (RFC 9207)."""
        metadata = await self.metadata()
        is_missing = issuer is None and metadata.authorization_response_iss_parameter_supported
        if is_missing or issuer not in (None, metadata.issuer):
            raise _refused("the response is of another issuer")

    async def read_claims(
        self, code: str, *, nonce: str, verifier: str, wanted: Sequence[str]
    ) -> Mapping[str, Any]:
        """Exchange a code, check the ID token, and return its claims; those that it lacks come from UserInfo."""
        answer = await self._exchange(code, verifier)
        try:
            claims = await self._verify(
                str(answer.get("id_token")), nonce, answer.get("access_token")
            )
        except (JoseError, ValueError, TypeError, RecursionError) as error:
            raise _refused(f"the ID token is not valid: {error}") from None
        if any(name not in claims for name in wanted):
            claims = {**await self._read_userinfo(answer, claims["sub"]), **claims}
        return claims

    async def metadata(self) -> Metadata:
        """Return what the provider publishes. Raise `ServiceUnavailable` if that cannot be read."""
        time = asyncio.get_running_loop().time()
        if self._metadata is None or self._metadata_until < time:
            url = self._provider.issuer.rstrip("/") + DISCOVERY_PATH
            try:
                found = msgspec.convert(await self._get(url), Metadata)
                if found.issuer != self._provider.issuer:
                    raise _ProviderFault(f"{url} names another issuer: {found.issuer}")
                if not all(
                    map(
                        is_safe_url,
                        (found.authorization_endpoint, found.token_endpoint, found.jwks_uri),
                    )
                ):
                    raise _ProviderFault(f"{url} names an endpoint without https")
            except (_ProviderFault, msgspec.ValidationError) as fault:
                raise self._unavailable(fault) from None
            # A key that the provider has withdrawn is not used for longer than this.
            self._metadata, self._metadata_until, self._keys = found, time + METADATA_SECONDS, None
        return self._metadata

    async def close(self) -> None:
        await self._http.aclose()

    async def _exchange(self, code: str, verifier: str) -> Mapping[str, Any]:
        metadata, provider = await self.metadata(), self._provider
        body = prepare_token_request(
            "authorization_code", code=code, redirect_uri=self._redirect_uri, code_verifier=verifier
        )
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        url, headers, body = _client_auth(provider, metadata).prepare(
            "POST", metadata.token_endpoint, headers, body
        )
        try:
            status, answer = await self._send("POST", url, headers=headers, content=body)
        except _ProviderFault as fault:
            raise self._unavailable(fault) from None
        if status >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise self._unavailable(_ProviderFault(f"{url} answers {status}"))
        if status != httpx.codes.OK:
            raise _refused(f"the code was not accepted: {str(answer.get('error'))[:100]!r}")
        return answer

    async def _verify(self, id_token: str, nonce: str, access_token: Any) -> Mapping[str, Any]:
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        provider = self._provider
        try:
            token = jwt.decode(id_token, await self._load_keys(), registry=registry)
        except JoseError:  # the provider may have new keys
            token = jwt.decode(id_token, await self._load_keys(is_new=True), registry=registry)
        options = {
            "iss": {"essential": True, "value": provider.issuer},
            "aud": {"essential": True, "value": provider.client_id},
            "sub": {"essential": True},
        }
        params = {"nonce": nonce, "client_id": provider.client_id, "access_token": access_token}
        # Authlib knows the hash of the access token by the former name of the algorithm only (RFC 9864).
        header = (
            token.header | {"alg": "EdDSA"} if token.header["alg"] == "Ed25519" else token.header
        )
        claims = CodeIDToken(token.claims, header, options, params)
        claims.validate(leeway=CLOCK_DIFFERENCE)
        return dict(claims)

    async def _load_keys(self, *, is_new: bool = False) -> KeySet:
        if self._keys is None or is_new:
            metadata = await self.metadata()
            try:
                found = (await self._get(metadata.jwks_uri)).get("keys")
            except _ProviderFault as fault:
                raise self._unavailable(fault) from None
            self._keys = KeySet([key for each in found or () for key in _import_key(each)])
        return self._keys

    async def _read_userinfo(self, answer: Mapping[str, Any], subject: str) -> Mapping[str, Any]:
        endpoint = (await self.metadata()).userinfo_endpoint
        if not is_safe_url(endpoint):
            return {}
        try:
            found = await self._get(
                endpoint, {"Authorization": f"Bearer {answer.get('access_token')}"}
            )
        except _ProviderFault as fault:
            raise self._unavailable(fault) from None
        if found.get("sub") != subject:
            raise _refused("UserInfo is of another person")
        return found

    async def _get(self, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        status, answer = await self._send("GET", url, headers=headers)
        if status != httpx.codes.OK:
            raise _ProviderFault(f"{url} answers {status}")
        return answer

    async def _send(self, method: str, url: str, **options: Any) -> tuple[int, Mapping[str, Any]]:
        """Return status and body, an object. Redirects are not followed: the secret is for this address only."""
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                self._http.stream(method, url, **options) as response,
            ):
                body = b""
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > MAX_RESPONSE_BYTES:
                        raise _ProviderFault(f"the answer of {url} is too long")
            return response.status_code, msgspec.json.decode(body, type=dict[str, Any])
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            UnicodeEncodeError,
            TimeoutError,
            OSError,
        ) as error:
            raise _ProviderFault(f"{url}: {error!r}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise _ProviderFault(f"{url} does not answer with a JSON object") from None

    def _unavailable(self, fault: Exception) -> ServiceUnavailable:
        log.warning("single sign-on with %s: %s", self._provider.id, fault)
        message = Message(
            "{provider} cannot be reached. Try again in a moment.", provider=self._provider.name
        )
        return ServiceUnavailable(message)


def _refused(reason: str) -> BadRequest:
    log.warning("a login by single sign-on was refused: %s", reason)
    return BadRequest(Message("The answer of the provider is not valid, or too old. Log in again."))


def _client_auth(provider: Provider, metadata: Metadata) -> ClientAuth:
    """How the service proves to the provider who it is."""
    known = metadata.token_endpoint_auth_methods_supported
    if not provider.client_secret:
        return ClientAuth(provider.client_id, None, "none")
    if "client_secret_post" in known and "client_secret_basic" not in known:
        return ClientAuth(provider.client_id, provider.client_secret, "client_secret_post")
    # Both are encoded before Basic (RFC 6749, 2.3.1), which Authlib leaves to its caller.
    return ClientAuth(
        quote_plus(provider.client_id), quote_plus(provider.client_secret), "client_secret_basic"
    )


def _import_key(key: Any) -> list[Any]:
    """A key of the provider, or nothing if its kind is not known here."""
    try:
        return list(KeySet.import_key_set({"keys": [key]}).keys)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return []
