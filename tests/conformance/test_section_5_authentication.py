"""Section 5: authentication."""

from tests.conftest import Service

LIST = "/api/v2/permissions/"


async def test_5_credentials_are_sent_in_the_authorization_header(service: Service) -> None:
    """`Token <t>` and `Bearer <t>` appear; both are accepted and mean the same."""
    token = await service.create_token()
    answers = [
        await service.get("/token/", headers={"Authorization": f"{scheme} {token}"})
        for scheme in ("Token", "Bearer")
    ]
    assert [answer.status_code for answer in answers] == [403, 403], "known, though not by password"
    for scheme in ("Token", "Bearer"):
        assert (
            await service.get("/token/", headers={"Authorization": f"{scheme} x{token}"})
        ).status_code == 401


async def test_5_requests_can_be_sent_without_a_header(service: Service) -> None:
    """Without an Authorization header a list still answers with its count."""
    answer = await service.get(LIST)
    assert (answer.status_code, answer.json()["count"]) == (200, 10)


async def test_5_the_catalogue_needs_no_credentials_and_is_the_same_with_them(
    service: Service,
) -> None:
    """Not stated in the document; we read it as public."""
    token = await service.create_token()
    known = await service.get(LIST, headers={"Authorization": f"Bearer {token}"})
    assert known.json() == (await service.get(LIST)).json()
