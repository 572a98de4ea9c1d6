"""Section 9: versioning, and where the description is published."""

from tests.conftest import Service


async def test_9_the_version_is_in_the_path(service: Service) -> None:
    """/api/v2/ is the prefix of every endpoint; another version is not there."""
    index = (await service.get("/api/v2/")).json()
    assert index
    assert all("/api/v2/" in address for address in index.values())
    for path in ("/api/v1/permissions/", "/api/permissions/", "/permissions/"):
        assert (await service.get(path)).status_code == 404


async def test_9_the_description_is_published(service: Service) -> None:
    """A machine-readable description at /api-docs/swagger-ui/."""
    page = await service.get("/api-docs/swagger-ui/")
    assert page.status_code == 200
    assert "/api-docs/openapi.json" in page.text
    description = await service.get("/api-docs/openapi.json")
    assert description.json()["openapi"].startswith("3.1")


async def test_9_programs_get_the_description_itself(service: Service) -> None:
    """The description at /api-docs/swagger-ui/ is machine-readable: JSON if that is preferred, a page otherwise."""
    path = "/api-docs/swagger-ui/"
    description = (await service.get("/api-docs/openapi.json")).json()
    for query, accept in (
        ("", "application/json"),
        ("", "application/json, */*;q=0.5"),
        ("?format=json", "*/*"),
    ):
        answer = await service.get(path + query, headers={"Accept": accept})
        assert answer.headers["Content-Type"] == "application/json"
        assert "Accept" in answer.headers["Vary"].split(", ")
        assert answer.json() == description
    for query, accept in (
        ("", "text/html,application/xhtml+xml,*/*;q=0.8"),
        ("", "*/*"),
        ("?format=api", "*/*"),
    ):
        answer = await service.get(path + query, headers={"Accept": accept})
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "Accept" in answer.headers["Vary"].split(", ")
