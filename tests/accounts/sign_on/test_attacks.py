"""What others try: at the callback, with ID tokens, as a provider, and with links on their pages.

`test_login.py` and `test_claims.py` have the harmless ones.
"""

import asyncio
import base64
import hmac
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest
from joserfc import jws, jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from joserfc.jws import JWSRegistry

from fieldgate.accounts.sign_on import oidc_client
from fieldgate.identity import csrf_token
from fieldgate.providers import Provider
from fieldgate.settings import LOOPBACK
from tests.accounts.sign_on.conftest import StartSignOn, configured
from tests.accounts.sign_on.sign_on_browser import (
    CALLBACK,
    LOGIN,
    SignOnBrowser,
    error_on,
    query_of,
)
from tests.accounts.sign_on.stand_in_provider import (
    CLIENT_ID,
    ProviderRequest,
    StandInProvider,
    Values,
    signing_key,
)
from tests.accounts.sign_on.test_linking import link_on_page
from tests.accounts.sign_on.test_login import NOT_BEGUN, NOT_VALID
from tests.conftest import BASE_URL, StartService
from tests.data.accounts import PASSWORD, find_user, identity_of
from tests.web.page_client import visible_text

UNREACHABLE = "Red Cross account cannot be reached. Try again in a moment."
BUSY = "The service is busy. Please try again in a few seconds."
OTHER_SITE = "https://evil.example/"


async def assert_refused(
    browser: SignOnBrowser, answer: httpx.Response, text: str, status: int = 400
) -> None:
    """Nobody is logged in, and nobody new is there."""
    assert (answer.status_code, error_on(answer)) == (status, text)
    assert browser.session == ""
    assert find_user(browser.service, "amina") is None


# The browser: the way there and back


async def test_open_redirect(sign_on: StartSignOn) -> None:
    targets = [
        "https://evil.example/",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "/\t/evil.example",
        "/x\r\nLocation: https://evil.example",
        " //evil.example",
        "evil.example",
        "javascript:alert(1)",
    ]
    async with sign_on() as browser:
        for target in targets:
            answer = await browser.log_in(f"{LOGIN}?next={quote(target, safe='')}")
            assert answer.status_code == 303
            assert answer.headers["Location"] == "/", target


async def test_open_redirect_by_a_planted_attempt(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        back = await browser.go_to_provider()
        attempt = json.loads(base64.urlsafe_b64decode(browser.attempt))
        attempt["next_path"] = "//evil.example"
        browser.plant_attempt(base64.urlsafe_b64encode(json.dumps(attempt).encode()).decode())
        answer = await browser.come_back(back)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")


async def test_answer_for_another_browser(sign_on: StartSignOn) -> None:
    """Somebody makes a person follow the link of a login that is not theirs."""
    async with sign_on() as attacker:
        back = await attacker.go_to_provider()
        victim = attacker.another()
        await assert_refused(victim, await victim.come_back(back), NOT_BEGUN)
        await victim.begin()
        await assert_refused(victim, await victim.come_back(back), NOT_BEGUN)


@pytest.mark.parametrize(
    "cookie",
    ["", "x", "e30", "e30=", "bnVsbA==", "W10=", "/w==", "A" * 4000, base64.b64encode(b"[" * 2000).decode(),
     base64.b64encode(b'{"provider":"ngo","state":"","nonce":"","verifier":"","next_path":"/"}').decode()],
)  # fmt: skip
@pytest.mark.parametrize("query", ["", "?state=&code=x", "?code=x&state=a&state=b"])
async def test_odd_attempts(oidc_service: SignOnBrowser, cookie: str, query: str) -> None:
    browser = oidc_service.another()
    if cookie:
        browser.plant_attempt(cookie)
    await assert_refused(browser, await browser.come_back(CALLBACK + query), NOT_BEGUN)


async def test_callback_twice(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """The second time there is no attempt; with a copy of the cookie, the provider refuses the code."""
    async with sign_on() as browser:
        back = await browser.go_to_provider()
        copy = browser.attempt
        assert (await browser.come_back(back)).status_code == 303
        assert error_on(await browser.come_back(back)) == NOT_BEGUN
        other = browser.another()
        other.plant_attempt(copy)
        answer = await other.come_back(back)
        assert (answer.status_code, error_on(answer)) == (400, NOT_VALID)
        assert other.session == ""


async def test_code_of_another_attempt(sign_on: StartSignOn) -> None:
    """A stolen code is of no use: its attempt has another verifier (PKCE) and another nonce."""
    async with sign_on() as victim:
        stolen = query_of(await victim.go_to_provider())["code"]
        attacker = victim.another()
        own = await attacker.go_to_provider()
        answer = await attacker.come_back(own.replace(query_of(own)["code"], stolen))
        await assert_refused(attacker, answer, NOT_VALID)


async def test_answer_of_another_provider(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """RFC 9207: a provider sends the browser back with its own code, to the callback of another one."""
    with StandInProvider() as evil:
        async with sign_on(others=(configured(evil, id="evil"),)) as browser:
            back = await browser.go_to_provider()
            await assert_refused(
                browser, await browser.come_back(back.replace("/ngo/", "/evil/")), NOT_BEGUN
            )
            for issuer in (evil.issuer, "", provider.issuer + "/", None):
                provider.response = {"iss": issuer}
                await assert_refused(browser, await browser.log_in(), NOT_VALID)
    assert "/token" not in provider.paths()


async def test_issuer_may_be_missing_if_the_provider_never_sends_it(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.response = {"iss": None}
    provider.metadata = {"authorization_response_iss_parameter_supported": None}
    async with sign_on() as browser:
        assert (await browser.log_in()).status_code == 303


async def test_redirect_uri_does_not_depend_on_the_host(
    start: StartService, provider: StandInProvider
) -> None:
    chosen: dict[str, Any] = {
        "base_url": BASE_URL,
        "sign_on": (configured(provider),),
        "allowed_hosts": ("*",),
    }
    async with start(**chosen) as service:
        browser = SignOnBrowser(service)
        for host, status in (
            ("evil.example", 303),
            ("evil.example:8000", 303),
            ("127.0.0.1@evil.example", 400),
        ):
            headers = {
                "Host": host,
                "X-Forwarded-Host": host,
                "X-Forwarded-Proto": "https",
                "Forwarded": f"host={host}",
            }
            answer = await browser.get(LOGIN, headers)
            assert answer.status_code == status
            if status == 303:
                assert query_of(answer.headers["Location"])["redirect_uri"] == CALLBACK
        await browser.log_in()
    [exchange] = [each for each in provider.requests if each.path.endswith("/token")]
    assert f"redirect_uri={quote(CALLBACK, safe='')}" in exchange.body.decode()


async def test_link_by_a_foreign_page(sign_on: StartSignOn) -> None:
    """A page of somebody else cannot know the CSRF token of the session."""
    async with sign_on() as browser:
        await browser.service.create_user("omar")
        await browser.log_in_with_password("omar", PASSWORD)
        for token in ("0", "0" * 64, csrf_token("another session"), "x" * 64, "é"):
            answer = await browser.get(f"{LOGIN}?link={token}")
            assert answer.status_code == 403
            assert browser.attempt == ""
        anonymous = browser.another()
        assert (await anonymous.get(f"{LOGIN}?link={csrf_token('')}")).status_code == 403
        assert await browser.identities() == []


async def test_link_by_a_planted_attempt(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """Another site of the same domain can set cookies, here one that would link an account of the attacker."""
    async with sign_on() as attacker:
        await attacker.service.create_user("eve")
        await attacker.log_in_with_password("eve", PASSWORD)
        _, victim_id = await attacker.service.create_user("omar")
        victim = attacker.another()
        await victim.log_in_with_password("omar", PASSWORD)
        for changes in ({}, {"link_to": victim_id}, {"link": "0" * 64}):
            back = await attacker.go_to_provider(await link_on_page(attacker))
            attempt = json.loads(base64.urlsafe_b64decode(attacker.attempt))
            victim.plant_attempt(
                base64.urlsafe_b64encode(json.dumps({**attempt, **changes}).encode()).decode()
            )
            answer = await victim.come_back(back)
            assert answer.status_code == 403
            assert await victim.identities() == []
            assert (await victim.me())["username"] == "omar"


async def test_link_after_the_session_changed(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.service.create_user("omar")
        await browser.service.create_user("sara")
        await browser.log_in_with_password("omar", PASSWORD)
        back = await browser.go_to_provider(await link_on_page(browser))
        await browser.log_in_with_password("sara", PASSWORD)
        answer = await browser.come_back(back)
        assert answer.status_code == 403
        assert (
            error_on(answer)
            == "You were logged out, or are somebody else now. Log in and try again."
        )
        assert await browser.identities() == []


# Who logs in


async def test_takeover_by_address_or_name(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """Nothing that a provider says about a person links them with a user."""
    provider.claims = {
        "preferred_username": "sara",
        "email": "sara@example.org",
        "email_verified": True,
        "name": "sara",
        "id": 1,
        "uid": "sara",
    }
    async with sign_on() as browser:
        _, user_id = await browser.service.create_user("sara", is_superuser=True)
        answer = await browser.log_in()
        assert answer.status_code == 409
        assert browser.session == ""
        for subject in (provider.subject, str(user_id)):
            assert identity_of(browser.service, provider.issuer, subject) is None


async def test_disabled_user(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        await browser.service.create_user("root", is_superuser=True)
        body = {"is_active": False}
        answer = await browser.service.request(
            "PATCH", "/api/v2/users/amina/", json=body, auth=("root", PASSWORD)
        )
        assert answer.status_code == 200
        answer = await browser.log_in()
        assert answer.status_code == 403
        assert error_on(answer) == "Your account is disabled. Ask the operator of this service."
        me = await browser.service.get(
            "/me/", headers={"Cookie": f"fieldgate_session={browser.session}"}
        )
        assert me.status_code == 401


async def test_service_account(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """A provider that claims to be a service account gets neither it nor its tokens."""
    provider.claims = {"preferred_username": "robot"}
    async with sign_on() as browser:
        _, owner = await browser.service.create_user("omar")
        await browser.service.create_user("robot", owner_id=owner)
        answer = await browser.log_in()
        assert answer.status_code == 409
        assert browser.session == ""


async def test_direction_controls_in_names(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """They could make a name look like another one, or turn the rest of a line round."""
    provider.claims = {
        "preferred_username": "\N{RIGHT-TO-LEFT OVERRIDE}anima",
        "given_name": "\N{RIGHT-TO-LEFT OVERRIDE}anima",
        "family_name": "x" * 151,
    }
    async with sign_on() as browser:
        await browser.log_in()
        me = await browser.me()
        assert (me["username"], me["first_name"], me["last_name"]) == ("anima", "", "")


@pytest.mark.parametrize(
    "subject", ["", "x" * 256, "a\0b", "a\nb", "\N{RIGHT-TO-LEFT OVERRIDE}x", 7, ["x"], None, {}]
)
async def test_odd_subjects(
    oidc_service: SignOnBrowser, provider_of_service: StandInProvider, subject: Any
) -> None:
    provider_of_service.registered = {"sub": subject}
    browser = oidc_service.another()
    await assert_refused(browser, await browser.log_in(), NOT_VALID)


# ID tokens (OpenID Connect Core 1.0, section 3.1.3.7)


def _public_pem() -> bytes:
    key = signing_key("RS256")
    assert isinstance(key, RSAKey)
    return key.as_pem(private=False)


def as_public_key_hmac(header: Values, claims: Values) -> str:
    """HS256, with what everybody knows as the secret: the public key."""
    start = jwt.encode(
        {**header, "alg": "HS256"}, dict(claims), OctKey.import_key("x" * 64)
    ).rpartition(".")[0]
    made = hmac.digest(_public_pem(), start.encode(), "sha256")  # joserfc refuses to
    return f"{start}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


def as_client_secret_hmac(header: Values, claims: Values) -> str:
    return jwt.encode({**header, "alg": "HS256"}, dict(claims), OctKey.import_key("s+e:c%ret" * 9))


def unsigned(header: Values, claims: Values) -> str:
    registry = JWSRegistry(algorithms=["none"])
    return jwt.encode(
        {**header, "alg": "none"}, dict(claims), OctKey.import_key("x"), registry=registry
    )


def with_own_key(header: Values, claims: Values) -> str:
    """Signed with a key that the token brings along."""
    own = signing_key("RS256", "own")
    return jwt.encode(
        {**header, "jwk": own.as_dict(private=False)}, dict(claims), own, registry=_lenient()
    )


def with_another_key(header: Values, claims: Values) -> str:
    return jwt.encode(
        dict(header), dict(claims), signing_key("RS256", "other"), registry=_lenient()
    )


def with_changed_claims(header: Values, claims: Values) -> str:
    signed = jwt.encode(dict(header), dict(claims), signing_key("RS256"))
    start, _, signature = signed.split(".")
    changed = json.dumps({**claims, "sub": "somebody else"}).encode()
    return ".".join((start, base64.urlsafe_b64encode(changed).rstrip(b"=").decode(), signature))


def without_signature(header: Values, claims: Values) -> str:
    return jwt.encode(dict(header), dict(claims), signing_key("RS256")).rpartition(".")[0] + "."


def with_critical_header(header: Values, claims: Values) -> str:
    """RFC 7515, 4.1.11: who does not understand a critical parameter must refuse the token."""
    registry = JWSRegistry({"x": JWSRegistry.default_header_registry["cty"]}, algorithms=["RS256"])
    changed = {**header, "crit": ["x"], "x": "y"}
    return jwt.encode(changed, dict(claims), signing_key("RS256"), registry=registry)


def no_object(header: Values, claims: Values) -> str:
    return jws.serialize_compact(dict(header), b"[1]", signing_key("RS256"))


def _lenient() -> JWSRegistry:
    return JWSRegistry(algorithms=["RS256"], strict_check_header=False)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize(
    "sign",
    [as_public_key_hmac, as_client_secret_hmac, unsigned, with_own_key, with_another_key, with_changed_claims,
     without_signature, with_critical_header, no_object],
)  # fmt: skip
async def test_forged_signatures(
    oidc_service: SignOnBrowser,
    provider_of_service: StandInProvider,
    sign: Callable[[Values, Values], str],
) -> None:
    made: list[str] = []

    def signed(header: Values, claims: Values) -> str:
        made.append(sign(header, claims))
        return made[-1]

    provider_of_service.sign = signed
    browser = oidc_service.another()
    await assert_refused(browser, await browser.log_in(), NOT_VALID)
    assert len(made) == 1


async def test_public_key_that_is_published_as_a_secret(
    oidc_service: SignOnBrowser, provider_of_service: StandInProvider
) -> None:
    """Even a symmetric key in the key set makes no signature valid."""
    secret = OctKey.import_key({"kty": "oct", "k": "c2VjcmV0" * 6, "kid": "secret"})
    provider = provider_of_service
    provider.answers["/keys"] = lambda request: request.send_json({"keys": [secret.as_dict()]})
    provider.sign = lambda header, claims: jwt.encode(
        {"alg": "HS256", "kid": "secret"}, dict(claims), secret
    )
    browser = oidc_service.another()
    await assert_refused(browser, await browser.log_in(), NOT_VALID)


def _now() -> int:
    return int(time.time())


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another client"},
        {"aud": ["another client", "third"]},
        {"aud": []},
        {"aud": None},
        {"aud": [CLIENT_ID, "another client"]},  # and no azp
        {"aud": [CLIENT_ID, "another client"], "azp": "another client"},
        {"azp": "another client"},
        {"exp": _now() - 3600},
        {"exp": None},
        {"exp": "2100-01-01"},
        {"exp": True},
        {"iat": _now() + 3600},
        {"iat": None},
        {"nbf": _now() + 3600},
        {"nonce": "of another attempt"},
        {"nonce": None},
        {"nonce": ""},
        {"nonce": ["x"]},
        {"at_hash": "of another token"},
        {"at_hash": 7},
    ],
    ids="-".join,  # no times: each process collects the same names
)
async def test_substituted_id_tokens(
    oidc_service: SignOnBrowser, provider_of_service: StandInProvider, changes: dict[str, Any]
) -> None:
    provider_of_service.registered = changes
    browser = oidc_service.another()
    await assert_refused(browser, await browser.log_in(), NOT_VALID)


async def test_audiences_with_an_authorized_party(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.registered = {"aud": [CLIENT_ID, "another client"], "azp": CLIENT_ID}
    async with sign_on() as browser:
        assert (await browser.log_in()).status_code == 303


@pytest.mark.parametrize(
    "value",
    [None, "", "x", "a.b", "a.b.c", "a.b.c.d.e", "é.é.é", 7, [], {}, "." * 200_000, "e30.e30.e30", "W10.W10.W10",
     "eyJhbGciOltdfQ.e30.e30", "eyJhbGciOiJSUzI1NiIsImtpZCI6W119.e30.e30", "eyJhbGciOiJSUzI1NiIsImNyaXQiOjd9.e30.e30"],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
async def test_odd_id_tokens(
    oidc_service: SignOnBrowser, provider_of_service: StandInProvider, value: Any
) -> None:
    provider_of_service.token_answer = {"id_token": value}
    browser = oidc_service.another()
    await assert_refused(browser, await browser.log_in(), NOT_VALID)


# The provider, or somebody on the way to it


async def test_userinfo_of_another_person(
    oidc_service: SignOnBrowser, provider_of_service: StandInProvider
) -> None:
    """Section 5.3.2: the subject of UserInfo must be that of the ID token."""
    provider_of_service.claims = {}
    for subject in ("victim", None, provider_of_service.subject.upper() + " "):
        provider_of_service.userinfo = {"sub": subject, "preferred_username": "amina"}
        browser = oidc_service.another()
        await assert_refused(browser, await browser.log_in(), NOT_VALID)


async def test_userinfo_changes_no_claims_of_the_id_token(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.userinfo = {
        "preferred_username": "sara",
        "email": "a@example.org",
        "email_verified": True,
    }
    provider.claims["email"] = "a@evil.example"
    async with sign_on(allowed_domains=("example.org",)) as browser:
        assert (await browser.log_in()).status_code == 403


def copies(provider: StandInProvider, count: int) -> tuple[Provider, ...]:
    """The same provider by other ids, each as if it had never been asked."""
    return tuple(configured(provider, id=f"copy-{number}") for number in range(count))


async def test_odd_metadata(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """OpenID Connect Discovery 1.0, section 4.3: the issuer must be the one that was asked for."""
    situations: list[dict[str, Any]] = [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://evil.example/token"},
        {"token_endpoint": 7},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://evil.example/\r\nSet-Cookie: x=y"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
    ]
    async with sign_on(others=copies(provider, len(situations))) as browser:
        for number, provider.metadata in enumerate(situations):
            await assert_refused(
                browser, await browser.get(f"/login/copy-{number}/"), UNREACHABLE, 503
            )


@pytest.mark.parametrize(
    "path", ["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"]
)
async def test_hostile_answers(
    sign_on: StartSignOn, provider: StandInProvider, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endless, silent, huge, compressed, nested too deeply, or no JSON at all."""
    monkeypatch.setattr(oidc_client, "TIMEOUT_SECONDS", 0.5)
    is_over = threading.Event()
    hostile: list[Callable[[ProviderRequest], object]] = [
        ProviderRequest.send_endlessly,
        lambda request: request.send_bytes(b" " * (oidc_client.MAX_RESPONSE_BYTES + 1) + b"{}"),
        lambda request: request.send_bytes(b"[" * 100_000),
        lambda request: request.send_bytes(b'{"a":' * 100_000),
        lambda request: request.send_bytes(b"\xff\xfe{}"),
        lambda request: request.send_bytes(b"<html>It works!</html>"),
        lambda request: request.send_bytes(b""),
        lambda request: request.send_json([]),
        lambda request: request.send_json({}, 500),
        lambda request: request.send_bytes(
            b"{}", headers={"Content-Encoding": "gzip", "Content-Length": "9"}
        ),
        lambda _: is_over.wait(),
    ]
    provider.claims = {}
    async with sign_on(others=copies(provider, len(hostile))) as browser:
        for number, provider.answers[path] in enumerate(hostile):
            login = f"/login/copy-{number}/"
            answer = await browser.get(login)
            if answer.status_code == 303:
                answer = await browser.log_in(login)
            assert answer.status_code in (400, 403, 503), visible_text(answer.text)
            assert error_on(answer)
            assert browser.session == ""
        is_over.set()
        assert find_user(browser.service, "amina") is None


async def test_cookies_of_the_provider_are_not_kept(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    """They would be sent with the logins of all other people."""
    for path, value in (
        ("/.well-known/openid-configuration", provider.configuration()),
        ("/keys", KeySet(provider.keys).as_dict(private=False)),
    ):
        body, headers = json.dumps(value).encode(), {"Set-Cookie": "person=amina; Path=/"}
        provider.answers[path] = partial(ProviderRequest.send_bytes, body=body, headers=headers)
    async with sign_on() as browser:
        assert (await browser.log_in()).status_code == 303
        assert (await browser.another().log_in()).status_code == 303
    assert [each.path for each in provider.requests if "Cookie" in each.headers] == []


@pytest.mark.parametrize("access_token", ["é", "a\r\nX: y", "", 7, [], None])
async def test_odd_access_tokens(
    oidc_service: SignOnBrowser, provider_of_service: StandInProvider, access_token: Any
) -> None:
    provider = provider_of_service
    provider.claims, provider.registered, provider.token_answer = (
        {},
        {"at_hash": None},
        {"access_token": access_token},
    )
    browser = oidc_service.another()
    await assert_refused(browser, await browser.log_in(), UNREACHABLE, 503)


async def test_flood_of_logins_while_the_provider_is_silent(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    """Only some wait for the provider, and only some of one address: others use the service in the meantime."""
    is_over = threading.Event()
    provider.answers["/.well-known/openid-configuration"] = lambda _: is_over.wait()
    most, most_of_one = oidc_client.MAX_LOGINS, oidc_client.MAX_LOGINS_PER_CALLER
    async with sign_on({"trusted_proxies": LOOPBACK}) as browser:

        def begin(address: str) -> asyncio.Task[httpx.Response]:
            return asyncio.ensure_future(browser.another().get(LOGIN, {"X-Forwarded-For": address}))

        async def flood(address: str, count: int) -> set[asyncio.Task[httpx.Response]]:
            """Begin logins. Return those that wait, once as many as expected are refused."""
            waiting = {begin(address) for _ in range(count + 5)}
            refused: list[httpx.Response] = []
            while len(refused) < 5:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                refused += [each.result() for each in done]
            assert {(answer.status_code, error_on(answer)) for answer in refused} == {(503, BUSY)}
            assert len(waiting) == count
            return waiting

        waiting: set[asyncio.Task[httpx.Response]] = set()
        for number in range(most // most_of_one):
            waiting |= await flood(f"192.0.2.{number}", most_of_one)
        assert await flood("192.0.2.200", 0) == set()
        username, _ = await browser.service.create_user()
        await browser.log_in_with_password(username, PASSWORD)
        is_over.set()
        await asyncio.gather(*waiting)


async def test_secret_does_not_follow_redirects(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    situations = [
        (path, status)
        for path in ("/token", "/userinfo", "/keys", "/.well-known/openid-configuration")
        for status in (301, 302, 303, 307, 308)
    ]
    provider.claims = {}
    with StandInProvider() as evil:
        async with sign_on(others=copies(provider, len(situations))) as browser:
            for number, (path, status) in enumerate(situations):
                target = evil.issuer + path
                provider.answers = {
                    path: partial(ProviderRequest.send_redirect, location=target, status=status)
                }
                login = f"/login/copy-{number}/"
                answer = await browser.get(login)
                if answer.status_code == 303:
                    answer = await browser.log_in(login)
                assert answer.status_code in (400, 503)
                assert browser.session == ""
        assert evil.requests == []


async def test_withdrawn_key(
    sign_on: StartSignOn, provider: StandInProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that the provider no longer publishes is not accepted for longer than its description is kept."""
    monkeypatch.setattr(oidc_client, "METADATA_SECONDS", -1)
    [stolen] = provider.keys
    async with sign_on() as browser:
        await browser.log_in()
        provider.keys = [signing_key("RS256", "new")]
        provider.sign = lambda header, claims: jwt.encode(
            {**header, "kid": stolen.kid}, dict(claims), stolen
        )
        answer = await browser.another().log_in()
        assert (answer.status_code, error_on(answer)) == (400, NOT_VALID)


async def test_secrets_are_not_in_the_log(
    sign_on: StartSignOn, provider: StandInProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever fails: neither the secret, the code, the state, nor the tokens."""
    caplog.set_level("DEBUG")
    for changes in ({}, {"nonce": "x"}, {"exp": 1}):
        provider.registered = changes
        async with sign_on() as browser:
            back = await browser.go_to_provider()
            attempt = msgspec.json.decode(base64.urlsafe_b64decode(browser.attempt))
            await browser.come_back(back)
    ours = "\n".join(
        record.getMessage() for record in caplog.records if record.name.startswith("fieldgate")
    )
    for secret in (
        "s+e:c%ret",
        "s%2Be",
        query_of(back)["code"],
        attempt["state"],
        attempt["verifier"],
        "eyJ",
    ):
        assert secret not in ours
