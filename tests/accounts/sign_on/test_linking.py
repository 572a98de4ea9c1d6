"""Link an account at a provider to a user, and remove it: on the account page, over HTTP, and by the operator."""

import asyncio
import re

import pytest

from fieldgate.settings import PasswordLogin
from tests.accounts.sign_on.conftest import StartSignOn, configured, user_id_of
from tests.accounts.sign_on.sign_on_browser import SignOnBrowser, error_on
from tests.accounts.sign_on.stand_in_provider import StandInProvider
from tests.data.accounts import PASSWORD, link_identity
from tests.web.page_client import PageClient, csrf_token_in, visible_text

ACCOUNT = "/account/"
TAKEN = (
    "There already is a user amina here. If this is you, log in with your password, and link Red Cross account on the "
    "page of your account. Otherwise ask the operator for an account."
)
TAKEN_WITHOUT_PASSWORDS = (
    "There already is a user amina here. If this is you, log in as you did before, and link Red Cross account on the "
    "page of your account, or ask the operator to link it. Otherwise ask the operator for an account."
)
LAST_ONE = "You have no password that you can use: without this you could not log in any more."


async def link_on_page(browser: SignOnBrowser) -> str:
    """The address of the button on the account page."""
    page = await browser.get(ACCOUNT)
    assert "Link Red Cross account" in visible_text(page.text)
    [path] = re.findall(r'href="(/login/ngo/\?link=[0-9a-f]+)"', page.text)
    return str(path)


async def test_a_taken_name_asks_and_never_links(
    sign_on: StartSignOn, provider: StandInProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """What the page says is what helps: log in with the password, and link. The operator sees the subject."""
    provider.claims = {
        "preferred_username": "AMINA@example.org",
        "email": "amina@example.org",
        "email_verified": True,
    }
    async with sign_on() as browser:
        await browser.service.create_user("amina")
        answer = await browser.log_in()
        assert answer.status_code == 409
        assert error_on(answer) == TAKEN
        assert (
            f"{provider.issuer} {provider.subject!r}: There already is a user amina" in caplog.text
        )
        assert browser.session == ""
        await browser.log_in_with_password("amina", PASSWORD)
        answer = await browser.log_in(await link_on_page(browser))
        assert answer.headers["Location"] == ACCOUNT
        page = await browser.get(ACCOUNT)
        assert "You can log in with Red Cross account now." in visible_text(page.text)
        assert provider.subject in visible_text(page.text)
        other = browser.another()
        assert (await other.log_in()).status_code == 303
        assert (await other.me())["username"] == "amina"


@pytest.mark.parametrize("value", ["superusers", "none"])
async def test_a_taken_name_where_passwords_do_not_help(sign_on: StartSignOn, value: str) -> None:
    async with sign_on({"password_login": PasswordLogin(value)}) as browser:
        await browser.service.create_user("amina")
        answer = await browser.log_in()
        assert (answer.status_code, error_on(answer)) == (409, TAKEN_WITHOUT_PASSWORDS)


async def test_names_that_nobody_can_have(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """The name of the public, and that of somebody who left."""
    async with sign_on() as browser:
        await browser.service.create_user("left")
        uid = (await browser.service.get("/me/", auth=("left", PASSWORD))).json()["uid"]
        answer = await browser.service.request(
            "DELETE", "/me/", json={"confirm": uid}, auth=("left", PASSWORD)
        )
        assert answer.status_code == 204, answer.text
        for name in ("AnonymousUser", "anonymoususer@example.org", "left"):
            provider.claims = {"preferred_username": name}
            answer = await browser.log_in()
            assert answer.status_code == 409
            assert "There already is a user" in error_on(answer)


async def test_remove_on_the_account_page(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.service.create_user("amina")
        await browser.log_in_with_password("amina", PASSWORD)
        await browser.log_in(await link_on_page(browser))
        [identity] = await browser.identities()
        page = await browser.submit_and_follow(ACCOUNT, "unlink", {"id": str(identity["id"])})
        assert "You cannot log in with this account any more." in visible_text(page.text)
        assert await browser.identities() == []
        assert (await browser.another().log_in()).status_code == 409


async def test_removing_an_account_ends_its_sessions(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    """Sessions with a password, through other providers, and of other people go on."""
    others = (configured(provider, id="other", issuer="http://127.0.0.1:1/other"),)
    async with sign_on(others=others) as browser:
        _, user_id = await browser.service.create_user("amina")
        link_identity(browser.service, user_id, provider.issuer, provider.subject)
        await browser.log_in_with_password("amina", PASSWORD)
        through_provider, of_omar = browser.another(), browser.another()
        await through_provider.log_in()
        through_other = await PageClient.logged_in(browser.service, user_id, provider="other")
        provider.subject, provider.claims = "omar's", {"preferred_username": "omar"}
        await of_omar.log_in()
        [identity] = await browser.identities()
        await browser.submit_and_follow(ACCOUNT, "unlink", {"id": str(identity["id"])})
        for each, status in (
            (browser, 200),
            (through_provider, 401),
            (through_other, 200),
            (of_omar, 200),
        ):
            assert (await each.get(ACCOUNT)).status_code == status
        await browser.service.create_user("root", is_superuser=True)
        log = await browser.service.get(
            "/api/v2/audit-logs/?q=action:remove", auth=("root", PASSWORD)
        )
        [entry] = log.json()["results"]
        assert (entry["username"], entry["metadata"]["count"]) == ("amina", 1)


async def test_removing_an_account_may_end_the_own_session(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    async with sign_on() as browser:
        _, user_id = await browser.service.create_user("amina")
        link_identity(browser.service, user_id, provider.issuer, provider.subject)
        await browser.log_in()
        page = await browser.get(ACCOUNT)
        assert (
            "If you remove an account, sessions in which you logged in with it end."
            in visible_text(page.text)
        )
        [identity] = await browser.identities()
        page = await browser.submit_and_follow(ACCOUNT, "unlink", {"id": str(identity["id"])})
        assert page.status_code == 401
        await browser.log_in_with_password("amina", PASSWORD)
        assert await browser.identities() == []


async def test_linking_twice_is_once(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        assert (await browser.log_in(await link_on_page(browser))).status_code == 303
        assert len(await browser.identities()) == 1


async def test_the_last_account_stays_without_a_password(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        [identity] = await browser.identities()
        answer = await browser.submit(ACCOUNT, "unlink", {"id": str(identity["id"])})
        assert answer.status_code == 400
        assert LAST_ONE in visible_text(answer.text)
        assert len(await browser.identities()) == 1


async def test_an_account_at_a_provider_that_is_not_configured_does_not_count(
    sign_on: StartSignOn,
) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        user_id = await user_id_of(browser.service, "amina")
        link_identity(browser.service, user_id, "https://old.example", "7")
        usable, old = await browser.identities()
        answer = await browser.submit(ACCOUNT, "unlink", {"id": str(usable["id"])})
        assert (answer.status_code, LAST_ONE in visible_text(answer.text)) == (400, True)
        assert (await browser.submit(ACCOUNT, "unlink", {"id": str(old["id"])})).status_code == 303
        assert await browser.identities() == [usable]


@pytest.mark.parametrize(
    ("value", "can_remove"), [("all", True), ("superusers", False), ("none", False)]
)
async def test_a_password_that_is_of_no_use_does_not_count(
    sign_on: StartSignOn, provider: StandInProvider, value: str, can_remove: bool
) -> None:
    async with sign_on({"password_login": PasswordLogin(value)}) as browser:
        _, user_id = await browser.service.create_user("amina")
        link_identity(browser.service, user_id, provider.issuer, provider.subject)
        await browser.log_in()
        [identity] = await browser.identities()
        answer = await browser.submit(ACCOUNT, "unlink", {"id": str(identity["id"])})
        assert answer.status_code == (303 if can_remove else 400)


async def test_accounts_of_others_cannot_be_removed(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        [identity] = await browser.identities()
        await browser.service.create_user("omar")
        for id in (identity["id"], 0, "x", "9" * 30, "-1", "٣"):
            path = f"/api/v2/account/identities/{id}/"
            assert (
                await browser.service.request("DELETE", path, auth=("omar", PASSWORD))
            ).status_code == 404
        assert len(await browser.identities()) == 1


async def test_tokens_remove_nothing(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        [identity] = await browser.identities()
        body = {"name": "Script"}
        headers = {
            "Cookie": f"fieldgate_session={browser.session}",
            "X-CSRFToken": browser.csrf_token,
        }
        token = (
            await browser.service.request(
                "POST", "/api/v2/account/tokens/", json=body, headers=headers
            )
        ).json()
        headers = {"Authorization": f"Token {token['token']}"}
        path = f"/api/v2/account/identities/{identity['id']}/"
        assert (await browser.service.request("DELETE", path, headers=headers)).status_code == 403


async def test_an_account_belongs_to_one_user(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.log_in()
        await browser.service.create_user("omar")
        other = browser.another()
        await other.log_in_with_password("omar", PASSWORD)
        answer = await other.log_in(await link_on_page(other))
        assert answer.status_code == 409
        assert error_on(answer) == "This account already belongs to another user here."
        assert (await other.me())["username"] == "omar"
        assert await other.identities() == []


async def test_linking_at_the_same_moment(sign_on: StartSignOn) -> None:
    """One user gets the account; the others learn why they do not."""
    async with sign_on() as browser:
        others = [browser.another() for _ in range(4)]
        for number, other in enumerate(others):
            await browser.service.create_user(f"user_{number}")
            await other.log_in_with_password(f"user_{number}", PASSWORD)
        links = [await link_on_page(other) for other in others]
        answers = await asyncio.gather(
            *(other.log_in(link) for other, link in zip(others, links, strict=True))
        )
        assert sorted(answer.status_code for answer in answers) == [303, 409, 409, 409]
        linked = [await other.identities() for other in others]
        assert sorted(map(len, linked)) == [0, 0, 0, 1]


async def test_an_account_that_cannot_log_in_cannot_be_linked(sign_on: StartSignOn) -> None:
    async with sign_on(allowed_domains=("example.org",)) as browser:
        await browser.service.create_user("omar")
        await browser.log_in_with_password("omar", PASSWORD)
        assert (await browser.log_in(await link_on_page(browser))).status_code == 403
        assert await browser.identities() == []


async def test_provider_that_is_not_configured_any_more(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    """People see what they had, and can remove it."""
    async with sign_on() as browser:
        _, user_id = await browser.service.create_user("omar")
        link_identity(browser.service, user_id, "https://old.example", "<b>7</b>")
        await browser.log_in_with_password("omar", PASSWORD)
        page = await browser.get(ACCOUNT)
        assert "https://old.example" in page.text
        assert "&lt;b&gt;7&lt;/b&gt;" in page.text
        [identity] = await browser.identities()
        assert identity["provider"] is None


async def test_subjects_are_not_folded(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """Section 2: a subject is a case-sensitive text."""
    async with sign_on() as browser:
        for subject, name in (
            ("abc", "first"),
            ("ABC", "second"),
            ("abc ", "third"),
            ("ａｂｃ", "fourth"),
        ):
            provider.subject, provider.claims = subject, {"preferred_username": name}
            await browser.log_in()
            assert (await browser.me())["username"] == name


async def test_the_same_subject_at_another_issuer_is_another_person(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    with StandInProvider(subject=provider.subject, claims={"preferred_username": "eve"}) as other:
        async with sign_on(others=(configured(other, id="other"),)) as browser:
            await browser.log_in()
            eve = browser.another()
            await eve.log_in("/login/other/")
            assert (await eve.me())["username"] == "eve"
            assert (await browser.me())["username"] == "amina"


async def test_links_are_in_the_log(sign_on: StartSignOn) -> None:
    async with sign_on() as browser:
        await browser.service.create_user("root", is_superuser=True)
        await browser.log_in_with_password("root", PASSWORD)
        await browser.log_in(await link_on_page(browser))
        [identity] = await browser.identities()
        await browser.submit(ACCOUNT, "unlink", {"id": str(identity["id"])})
        page = await browser.get("/api/v2/audit-logs/")
        assert "linked an account at a provider of single sign-on" in visible_text(page.text)
        assert csrf_token_in(page)
