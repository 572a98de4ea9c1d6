"""Log in with a provider: the journey, who gets an account, the end of a session, and what people read if it fails."""

import asyncio
import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from fieldgate.db import now
from tests.accounts.sign_on.conftest import StartSignOn, configured
from tests.accounts.sign_on.sign_on_browser import (
    CALLBACK,
    LOGIN,
    SignOnBrowser,
    error_on,
    query_of,
)
from tests.accounts.sign_on.stand_in_provider import CLIENT_ID, StandInProvider, signing_key
from tests.conftest import BASE_URL, StartService
from tests.data.accounts import PASSWORD, find_user, link_identity
from tests.web.page_client import visible_text

NOT_VALID = "The answer of the provider is not valid, or too old. Log in again."
STRANGER = "You have no account here. Ask the operator of this service for one."
NOT_BEGUN = "This login was not begun in this browser, or is too old. Log in again."


async def test_journey_of_somebody_new(sign_on: StartSignOn, provider: StandInProvider) -> None:
    provider.claims |= {"given_name": "Amina", "family_name": "Diallo"}
    async with sign_on() as browser:
        page = await browser.get("/login/?next=/api/v2/assets/%3Fq%3Dx")
        assert "Log in with Red Cross account" in visible_text(page.text)
        [link] = re.findall(r'href="[^"]*(/login/ngo/\?[^"]*)"', page.text)
        answer = await browser.log_in(link)
        assert answer.status_code == 303
        assert answer.headers["Location"] == "/api/v2/assets/?q=x"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        me = await browser.me()
        assert (me["username"], me["first_name"], me["last_name"]) == ("amina", "Amina", "Diallo")
        assert not me["is_superuser"]
        assert me["last_login"]
        [identity] = await browser.identities()
        assert (identity["issuer"], identity["subject"]) == (provider.issuer, provider.subject)
        assert identity["provider"] == "Red Cross account"
        assert identity["last_login"]
        assert browser.attempt == ""
    assert provider.paths() == [
        "/.well-known/openid-configuration",
        "/authorize",
        "/token",
        "/keys",
    ]


async def test_somebody_known_is_the_same_user(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        first = await browser.me()
        provider.claims = {"preferred_username": "another_name", "email": "another@example.org"}
        second = browser.another()
        await second.log_in()
        assert (await second.me())["uid"] == first["uid"]
        assert (await second.me())["username"] == "amina"
        assert (await browser.me())["uid"] == first["uid"]


async def test_request_to_the_provider(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """Section 3.1.2.1, RFC 7636 (PKCE), and the language of the caller."""
    async with sign_on(scopes=("openid", "groups")) as browser:
        browser.language = "ar"
        first, second = [query_of(await browser.begin()) for _ in range(2)]
    secret = ("state", "nonce", "code_challenge")
    assert {name: value for name, value in first.items() if name not in secret} == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "scope": "openid groups",
        "code_challenge_method": "S256",
        "ui_locales": "ar",
    }
    assert all(len(first[name]) >= 43 and first[name] != second[name] for name in secret)
    assert len({*(first[name] for name in secret)}) == 3


async def test_secret_is_in_the_body_if_the_provider_wants_that(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    async with sign_on() as browser:
        assert (await browser.log_in()).status_code == 303
    [exchange] = [each for each in provider.requests if each.path.endswith("/token")]
    assert "Authorization" not in exchange.headers
    assert b"client_secret=s%2Be%3Ac%25ret" in exchange.body


async def test_claims_that_the_id_token_lacks_come_from_userinfo(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.claims, provider.userinfo = {}, {"preferred_username": "binta", "given_name": "Binta"}
    async with sign_on() as browser:
        await browser.log_in()
        me = await browser.me()
        assert (me["username"], me["first_name"]) == ("binta", "Binta")


@pytest.mark.filterwarnings(
    "ignore:EdDSA is deprecated"
)  # as a name, for Ed25519, which few providers use yet
@pytest.mark.parametrize("alg", ["RS512", "PS256", "ES256", "ES512", "EdDSA", "Ed25519"])
async def test_algorithms(sign_on: StartSignOn, provider: StandInProvider, alg: str) -> None:
    provider.alg, provider.keys = alg, [signing_key(alg)]
    async with sign_on() as browser:
        answer = await browser.log_in()
        assert answer.status_code == 303, visible_text(answer.text)


async def test_new_keys_of_the_provider(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """Section 10.1.1: the signer begins to use a new key, and publishes it."""
    async with sign_on() as browser:
        assert (await browser.log_in()).status_code == 303
        provider.keys = [signing_key("RS256", "new"), *provider.keys]
        assert (await browser.another().log_in()).status_code == 303
        assert (await browser.another().log_in()).status_code == 303
    assert provider.paths().count("/keys") == 2


async def test_keys_without_an_id_and_of_unknown_kinds(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    key = signing_key("RS256").as_dict(private=False)
    del key["kid"]
    odd = [
        {"kty": "AKP", "alg": "ML-DSA-44"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": 7},
        {},
        None,
        "key",
        [],
        5,
    ]
    provider.answers["/keys"] = lambda request: request.send_json({"keys": [*odd, key]})
    provider.header = {"kid": None}
    async with sign_on() as browser:
        assert (await browser.log_in()).status_code == 303


@pytest.mark.parametrize(
    ("difference", "is_accepted"), [(-330, True), (-400, False), (30, True), (120, False)]
)
async def test_clocks_may_differ_by_a_minute(
    sign_on: StartSignOn, provider: StandInProvider, difference: int, is_accepted: bool
) -> None:
    """The ID token is valid for 300 seconds."""
    provider.clock_difference = difference
    async with sign_on() as browser:
        answer = await browser.log_in()
        assert answer.status_code == (303 if is_accepted else 400)
        if not is_accepted:
            assert error_on(answer) == NOT_VALID


async def test_denied_at_the_provider(
    sign_on: StartSignOn, provider: StandInProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.response = {
        "code": None,
        "error": "access_denied",
        "error_description": "no\nway" * 100,
    }
    async with sign_on() as browser:
        answer = await browser.log_in(f"{LOGIN}?next=/api/v2/assets/")
        assert answer.status_code == 403
        assert error_on(answer) == "Red Cross account did not log you in. Nothing was changed."
        assert "next=/api/v2/assets/" in answer.text
        # Without a referrer, browsers would send the form of this page with `Origin: null`, which is refused.
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert browser.session == ""
    [line] = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("fieldgate.accounts")
    ]
    assert "access_denied" in line
    assert "no\\nway" in line
    assert len(line) < 1000


async def test_errors_are_in_the_language_of_the_caller(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.response = {"code": None, "error": "access_denied"}
    async with sign_on() as browser:
        browser.language = "fr"
        answer = await browser.log_in()
        assert '<html lang="fr"' in answer.text
        assert "Red Cross account" in error_on(answer)
        assert "did not log you in" not in error_on(answer)


async def test_provider_that_cannot_be_reached(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    async with sign_on() as browser:
        username, _ = await browser.service.create_user()
        back = await browser.go_to_provider()
        provider.stop()
        answer = await browser.come_back(back)
        assert answer.status_code == 503
        assert error_on(answer) == "Red Cross account cannot be reached. Try again in a moment."
        other = browser.another()
        await other.log_in_with_password(username, PASSWORD)
        assert (await other.me())["username"] == username
    provider.__enter__()


async def test_provider_that_was_never_there(
    start: StartService, provider: StandInProvider
) -> None:
    gone = configured(provider, issuer="http://127.0.0.1:1/gone", id="ngo")
    async with start(base_url=BASE_URL, sign_on=(gone,)) as service:
        browser = SignOnBrowser(service)
        answer = await browser.get(f"{LOGIN}?next=/api/v2/assets/")
        assert answer.status_code == 503
        assert error_on(answer) == "Red Cross account cannot be reached. Try again in a moment."
        assert 'name="password"' in answer.text
        assert 'name="next" value="/api/v2/assets/"' in answer.text


async def test_head_uses_nothing_up(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """Programs that look at links send HEAD. Neither the code nor the attempt is of less use afterwards."""
    async with sign_on() as browser:
        back = await browser.go_to_provider()
        attempt = browser.attempt
        for path in (back, LOGIN, "/login/ngo/logout/", "/logout/"):
            asked = provider.paths()
            answer = await browser._send("HEAD", path)
            assert answer.status_code == {"/logout/": 405, "/login/ngo/logout/": 303}.get(path, 200)
            assert provider.paths() == asked
            assert "Set-Cookie" not in answer.headers
            assert (browser.session, browser.attempt) == ("", attempt)
        assert find_user(browser.service, "amina") is None
        assert (await browser.come_back(back)).status_code == 303
        session = browser.session
        await browser._send("HEAD", "/logout/")
        await browser._send("HEAD", "/login/ngo/logout/")
        assert browser.session == session
        assert (await browser.me())["username"] == "amina"


async def test_provider_that_is_not_configured(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        for path in ("/login/other/", "/login/other/logout/"):
            assert (await browser.get(path)).status_code == 404
        assert error_on(await browser.get("/login/other/callback/")) == NOT_BEGUN


async def test_strangers_get_no_account_unless_that_is_configured(
    sign_on: StartSignOn, provider: StandInProvider, caplog: pytest.LogCaptureFixture
) -> None:
    async with sign_on(create_users=False) as browser:
        answer = await browser.log_in()
        assert answer.status_code == 403
        assert error_on(answer) == STRANGER
        assert find_user(browser.service, "amina") is None
        # The operator needs the subject to link the account, and some providers show it nowhere.
        assert f"{provider.issuer} {provider.subject!r}" in caplog.text
        _, user_id = await browser.service.create_user("amina")
        link_identity(browser.service, user_id, provider.issuer, provider.subject)
        assert (await browser.log_in()).status_code == 303
        assert (await browser.me())["username"] == "amina"


async def test_username_of_a_claim(sign_on: StartSignOn, provider: StandInProvider) -> None:
    claims = {
        "Amina.Diallo@example.org": "amina_diallo",
        "ÉLODIE": "elodie",
        "42bashir": "bashir",
        "_chen_": "chen",
        "a--b  c": "a_b_c",
        "Straße": "strasse",
        "Ｆatima": "fatima",  # full width
        "x" * 500: "x" * 150,
        # Nothing is left that can be a username:
        "أمينة": "user_[0-9a-f]{12}",
        "x": "user_[0-9a-f]{12}",
        "1234": "user_[0-9a-f]{12}",
        "@example.org": "user_[0-9a-f]{12}",
    }
    async with sign_on(username_claim="name_here") as browser:
        for claim, expected in claims.items():
            provider.subject, provider.claims = f"subject of {claim}"[:200], {"name_here": claim}
            await browser.log_in()
            assert re.fullmatch(expected, (await browser.me())["username"])


async def test_claim_of_the_username_is_no_text(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    values: list[Any] = [None, "", "  ", 42, ["amina"], {"name": "amina"}, True]
    async with sign_on() as browser:
        for value in values:
            provider.claims = {"preferred_username": value}
            answer = await browser.log_in()
            assert answer.status_code == 403
            assert (
                error_on(answer) == "Red Cross account did not send the claim preferred_username."
            )


NOT_ALLOWED = "Your e-mail address is not one of those that can log in here."
UNVERIFIED = (
    "Red Cross account has not verified your e-mail address. Verify it there, and log in again."
)


async def test_allowed_domains(sign_on: StartSignOn, provider: StandInProvider) -> None:
    situations: list[tuple[str, dict[str, Any], bool]] = [
        ("ngo", {"email": "a@Example.org", "email_verified": True}, True),
        ("ngo", {"email": "a@example.org", "email_verified": "true"}, True),
        ("ngo", {"email": "a@example.org", "email_verified": False}, False),
        ("ngo", {"email": "a@example.org"}, False),
        ("ngo", {"email": "a@evil.org", "email_verified": True}, False),
        ("ngo", {"email": "a@sub.example.org", "email_verified": True}, False),
        ("ngo", {"email": "a@example.org@evil.org", "email_verified": True}, False),
        ("ngo", {"email": "@example.org", "email_verified": True}, False),
        ("ngo", {"email": "example.org", "email_verified": True}, False),
        ("ngo", {"email": ["a@example.org"], "email_verified": True}, False),
        ("ngo", {"email_verified": True}, False),
        ("trusted", {"email": "a@example.org"}, True),
        ("trusted", {"email": "a@evil.org"}, False),
        ("google", {"hd": "example.org"}, True),
        ("google", {"hd": "evil.org"}, False),
        ("google", {"hd": ["example.org"]}, False),
        ("google", {"email": "a@example.org", "email_verified": True}, False),
    ]
    domains = ("example.ORG",)
    others = (
        configured(provider, id="trusted", allowed_domains=domains, trust_email=True),
        configured(provider, id="google", allowed_domains=domains, domain_claim="hd"),
    )
    async with sign_on(others=others, allowed_domains=domains) as browser:
        for number, (name, claims, is_allowed) in enumerate(situations):
            provider.subject, username = str(number), f"user_{number}"
            provider.claims = {"preferred_username": username, **claims}
            answer = await browser.log_in(f"/login/{name}/")
            assert answer.status_code == (303 if is_allowed else 403), (name, claims)
            assert (find_user(browser.service, username) is not None) is is_allowed
            if not is_allowed:
                assert error_on(answer) == (UNVERIFIED if number in (2, 3) else NOT_ALLOWED)


async def test_verification_of_an_address_may_be_in_userinfo(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.claims |= {"email": "a@example.org"}
    provider.userinfo = {"email": "a@example.org", "email_verified": True}
    async with sign_on(allowed_domains=("example.org",)) as browser:
        assert (await browser.log_in()).status_code == 303


async def test_session_ends_after_its_lifetime(
    sign_on: StartSignOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that the user does makes it last longer."""
    async with sign_on({"session_lifetime": 3600}) as browser:
        answer = await browser.log_in()
        assert any("Max-Age=3600" in each for each in answer.headers.get_list("Set-Cookie"))
        begun = now()
        for minutes, is_logged_in in ((59, True), (61, False)):
            later = begun + timedelta(minutes=minutes)
            monkeypatch.setattr("fieldgate.accounts.store.now", lambda later=later: later)
            assert (await browser.get("/account/")).status_code == (200 if is_logged_in else 401)


async def test_a_session_that_the_browser_had_ends(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        username, _ = await browser.service.create_user()
        await browser.log_in_with_password(username, PASSWORD)
        former = browser.session
        assert (await browser.log_in()).status_code == 303
        assert (await browser.me())["username"] == "amina"
        answer = await browser.service.get(
            "/me/", headers={"Cookie": f"fieldgate_session={former}"}
        )
        assert answer.status_code == 401


async def test_log_out_here_and_at_the_provider(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        session = browser.session
        answer = await browser._send("POST", "/logout/", data={"csrf_token": browser.csrf_token})
        assert answer.headers["Location"] == "/login/?logged_out=ngo"
        assert browser.session == ""
        me = await browser.service.get("/me/", headers={"Cookie": f"fieldgate_session={session}"})
        assert me.status_code == 401
        page = await browser.get(answer.headers["Location"])
        assert "You are logged out here, but maybe not at Red Cross account." in visible_text(
            page.text
        )
        assert 'href="/login/ngo/logout/"' in page.text
        answer = await browser.get("/login/ngo/logout/")
        assert answer.status_code == 303
        assert answer.headers["Location"].startswith(f"{provider.issuer}/logout?")
        # RP-Initiated Logout 1.0, section 2
        expected = {"client_id": CLIENT_ID, "post_logout_redirect_uri": f"{BASE_URL}/login/"}
        assert query_of(answer.headers["Location"]) == expected


async def test_log_out_of_a_session_with_a_password(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        username, _ = await browser.service.create_user()
        await browser.log_in_with_password(username, PASSWORD)
        answer = await browser._send(
            "POST", "/logout/", data={"csrf_token": browser.csrf_token, "next": "/docs/"}
        )
        assert answer.headers["Location"] == "/docs/"


async def test_provider_without_a_logout(sign_on: StartSignOn, provider: StandInProvider) -> None:
    for endpoint in (
        None,
        "",
        "javascript:alert(1)",
        "http://login.example.org/",
        "https://x/\r\nA: b",
    ):
        provider.metadata = {"end_session_endpoint": endpoint}
        async with sign_on() as browser:
            answer = await browser.get("/login/ngo/logout/")
            assert answer.status_code == 409
            expected = (
                "Red Cross account offers no logout to other services. Log out on its own pages."
            )
            assert error_on(answer) == expected


async def test_logout_at_a_provider_that_cannot_be_reached(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    provider.answers["/.well-known/openid-configuration"] = lambda request: request.send_json(
        {}, 502
    )
    async with sign_on() as browser:
        answer = await browser.get("/login/ngo/logout/")
        assert answer.status_code == 503
        assert error_on(answer) == "Red Cross account cannot be reached. Try again in a moment."


async def test_who_is_logged_in_is_not_said_to_be_logged_out(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        page = await browser.get("/login/?logged_out=ngo")
        assert "You are logged out here" not in visible_text(page.text)
        assert "You are logged in as amina." in visible_text(page.text)


async def test_any_process_can_answer(start: StartService, provider: StandInProvider) -> None:
    """Two processes share only the database; the browser keeps the attempt."""
    chosen: dict[str, Any] = {"base_url": BASE_URL, "sign_on": (configured(provider),)}
    async with start(**chosen) as first, start(**chosen) as second:
        begun = SignOnBrowser(first)
        back = await begun.go_to_provider()
        finished = SignOnBrowser(second)
        finished.plant_attempt(begun.attempt)
        assert (await finished.come_back(back)).status_code == 303
        begun._cookies["fieldgate_session"] = finished.session
        assert (await begun.me())["username"] == "amina"


async def test_two_first_logins_of_one_person_at_once(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        browsers = [browser.another() for _ in range(4)]
        backs = [await each.go_to_provider() for each in browsers]
        answers = await asyncio.gather(
            *(each.come_back(back) for each, back in zip(browsers, backs, strict=True))
        )
        assert [answer.status_code for answer in answers] == [303] * 4
        assert len({(await each.me())["uid"] for each in browsers}) == 1


async def test_long_address_to_go_to_afterwards(sign_on: StartSignOn) -> None:
    """Browsers drop cookies beyond 4096 bytes, and the attempt with them."""
    async with sign_on() as browser:
        for path, expected in (
            ("/api/v2/event/?search=" + "ز" * 60, "/api/v2/event/?search=" + "%D8%B2" * 60),
            ("/api/v2/event/?search=" + "ز" * 600, "/"),
            ("/" + "\x01" * 900, "/"),
            ("/" + '"' * 900, "/" + "%22" * 900),
        ):
            answer = await browser.log_in(f"{LOGIN}?next={quote(path)}")
            assert answer.status_code == 303, visible_text(answer.text)
            assert answer.headers["Location"] == expected


async def test_login_is_in_the_log(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        log = await browser.service.get(
            "/api/v2/access-logs/me/", headers={"Cookie": f"fieldgate_session={browser.session}"}
        )
        [entry] = log.json()["results"]
        assert entry["action"] == "auth"
