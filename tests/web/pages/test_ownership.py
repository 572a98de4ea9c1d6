"""Pages of both sides of an invitation to own a form, and of leaving."""

import pytest

from fieldgate.web.pages.ownership import MAX_INVITES
from tests.conftest import StartService
from tests.data.accounts import find_user
from tests.web.page_client import PageClient, visible_text
from tests.web.pages.asset_world import AssetWorld

FORMS, HOME, ACCOUNT = "/api/v2/assets/", "/", "/account/"


async def test_owner_offers_a_form_and_the_recipient_accepts(start: StartService) -> None:
    async with start() as service:
        world = AssetWorld(service)
        omar_id, omar = await world.user("omar")
        _, amina = await world.user("amina")
        path = await world.create(omar_id, name="<b>Household</b>")
        refused = await omar.submit(path, "offer", {"recipient": "nobody_here"})
        assert (
            refused.status_code,
            "There is no user nobody_here." in visible_text(refused.text),
        ) == (400, True)
        page = await omar.submit_and_follow(path, "offer", {"recipient": "Amina"})
        text = visible_text(page.text)
        assert "amina is invited. Nothing changes until the invitation is accepted." in text
        assert "amina is invited to own it. Until then it is yours. Cancel the invitation" in text
        assert "1 invitation to own forms waits for your answer." in visible_text(
            (await amina.get(HOME)).text
        )
        assert "waits for your answer" not in (await omar.get(HOME)).text
        listed = await amina.get(FORMS)
        assert "omar wants to make you the owner <b>Household</b> If you accept" in visible_text(
            listed.text
        )
        assert "wants to make you" not in (await omar.get(FORMS)).text
        invite = listed.text.split('name="invite" value="')[1].split('"')[0]
        done = await amina.submit_and_follow(
            FORMS, "answer-invite", {"invite": invite, "answer": "accepted"}
        )
        assert "1 form belongs to you now." in visible_text(done.text)
        assert "Transfer ownership" in (await amina.get(path)).text
        again = await amina.submit(FORMS, "answer-invite", {"invite": invite, "answer": "accepted"})
        assert (again.status_code, "no longer open" in again.text) == (400, True)
        kept = await omar.get(path)
        assert (kept.status_code, "Transfer ownership" in kept.text) == (200, False)


async def test_old_invitation_is_not_lost_among_others(start: StartService) -> None:
    """Neither among those that the recipient sent nor among newer ones, whose number is shown."""
    async with start() as service:
        world = AssetWorld(service)
        (omar_id, omar), (amina_id, amina) = await world.user("omar"), await world.user("amina")

        async def offer(owner_id: int, owner: PageClient, to: str, name: str) -> None:
            path = await world.create(owner_id, name=name)
            assert (await owner.submit(path, "offer", {"recipient": to})).status_code == 303

        await offer(omar_id, omar, "amina", "The oldest")
        for number in range(MAX_INVITES):
            await offer(amina_id, amina, "omar", f"Sent {number}")
        assert "The oldest" in (await amina.get(FORMS)).text
        await offer(omar_id, omar, "amina", "Newer")
        for number in range(MAX_INVITES - 1):
            await offer(omar_id, omar, "amina", f"Newest {number}")
        text = visible_text((await amina.get(FORMS)).text)
        assert "1 more invitation is shown when you have answered these." in text
        assert ("The oldest" in text, "Newer" in text) == (False, True)
        assert f"{MAX_INVITES + 1} invitations to own forms wait" in visible_text(
            (await amina.get(HOME)).text
        )


async def test_forged_ids_of_invitations_stay_in_their_path(start: StartService) -> None:
    async with start() as service:
        world = AssetWorld(service)
        omar_id, omar = await world.user("omar")
        await world.user("amina")
        path = await world.create(omar_id)
        page = await omar.submit_and_follow(path, "offer", {"recipient": "amina"})
        invite = page.text.split('name="invite" value="')[1].split('"')[0]
        for forged in (f"%{ord(invite[0]):x}{invite[1:]}", f"x/../{invite}", f"{invite}/?"):
            refused = await omar.submit(path, "cancel-offer", {"invite": forged})
            assert refused.status_code == 400, forged
        assert "amina is invited to own it." in visible_text((await omar.get(path)).text)


@pytest.mark.parametrize("way", ["cancel", "decline"])
async def test_invitation_that_comes_to_nothing(start: StartService, way: str) -> None:
    async with start() as service:
        world = AssetWorld(service)
        omar_id, omar = await world.user("omar")
        _, amina = await world.user("amina")
        path = await world.create(omar_id)
        page = await omar.submit_and_follow(path, "offer", {"recipient": "amina"})
        invite = page.text.split('name="invite" value="')[1].split('"')[0]
        if way == "cancel":
            done = await omar.submit_and_follow(path, "cancel-offer", {"invite": invite})
            assert "The invitation was cancelled." in visible_text(done.text)
        else:
            done = await amina.submit_and_follow(
                FORMS, "answer-invite", {"invite": invite, "answer": "declined"}
            )
            assert "You declined the invitation. Nothing was changed." in visible_text(done.text)
        assert "wants to make you" not in (await amina.get(FORMS)).text
        assert 'name="recipient"' in (await omar.get(path)).text


async def test_account_page_deletes_the_account(start: StartService) -> None:
    async with start() as service:
        world = AssetWorld(service)
        user_id, amina = await world.user("amina")
        path = await world.create(user_id)
        page = await amina.get(ACCOUNT)
        assert 'href="/api/v2/account/export/"' in page.text
        row = find_user(service, "amina")
        assert row is not None
        assert f"Type this to confirm: {row.uid}" in visible_text(page.text)
        wrong = await amina.submit(ACCOUNT, "delete", {"confirm": "amina"})
        assert (wrong.status_code, "This is not the uid of your account." in wrong.text) == (
            400,
            True,
        )
        owner = await amina.submit(ACCOUNT, "delete", {"confirm": row.uid})
        assert owner.status_code == 400
        assert (
            "1 form or collection belongs to this account or its service accounts."
            in visible_text(owner.text)
        )
        assert f'<a href="{path}"><bdi>Household survey</bdi></a>' in owner.text
        await amina.submit_and_follow(path, "delete", {"confirm": "yes"})
        left = await amina.submit_and_follow(ACCOUNT, "delete", {"confirm": row.uid})
        assert "Your account was deleted." in left.text
        assert (await amina.get(ACCOUNT)).status_code == 401


async def test_superuser_deletes_a_user(start: StartService) -> None:
    async with start() as service:
        world = AssetWorld(service)
        _, boss = await world.user("boss", is_superuser=True)
        user_id, _ = await world.user("amina")
        path = await world.create(user_id)
        page = "/api/v2/users/amina/"
        assert "Delete the account" not in (await boss.get("/api/v2/users/boss/")).text
        wrong = await boss.submit(page, "delete", {"confirm": "omar"})
        assert (wrong.status_code, "This is not the username." in wrong.text) == (400, True)
        owner = await boss.submit(page, "delete", {"confirm": "amina"})
        assert (owner.status_code, f'<a href="{path}">' in owner.text) == (400, True)
        await boss.submit_and_follow(path, "delete", {"confirm": "yes"})
        done = await boss.submit_and_follow(page, "delete", {"confirm": "Amina"})
        assert "The account of amina was deleted." in visible_text(done.text)
        assert (await boss.get(page)).status_code == 404
