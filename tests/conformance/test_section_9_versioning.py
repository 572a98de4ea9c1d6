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
