"""Carry out packaging/compose.yaml without a container engine: its services are processes of this machine."""

import json
import os
import re
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.deployment.containerfile import CONTAINERFILE, read_instructions
from tests.deployment.systemd_unit import PACKAGING
from tests.faults.postgres_cluster import PROGRAMS, PostgresCluster
from tests.processes import TIMEOUT_SECONDS, free_port

IMAGE = dict(read_instructions(CONTAINERFILE.read_text()))  # of each instruction the last one


def read_compose(variables: dict[str, str]) -> Any:
    """The file with values for its variables. As in Compose, `${NAME:?message}` demands a value."""

    def value_of(variable: re.Match[str]) -> str:
        if not (value := variables.get(variable["name"])):
            raise ValueError(variable["message"])
        return value

    text = (PACKAGING / "compose.yaml").read_text()
    return yaml.safe_load(re.sub(r"\$\{(?P<name>\w+):\?(?P<message>[^}]+)\}", value_of, text))


class ComposeProject:
    """The services of the file. Their host names, ports and folders are replaced by those of this machine."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._proxy_port = free_port()
        self._ports = {"service1": free_port(), "service2": free_port()}
        self._replaced = {
            "0.0.0.0": "127.0.0.1",
            "172.30.80.0/24": "127.0.0.1",
            "/var/lib/fieldgate": str(folder),
            "/etc/caddy": str(folder),
            **{f"{name}:8000": f"127.0.0.1:{port}" for name, port in self._ports.items()},
        }

    @cached_property
    def _services(self) -> dict[str, Any]:
        lines = (self._folder / ".env").read_text().splitlines()
        services: dict[str, Any] = read_compose(dict(line.split("=", 1) for line in lines))[
            "services"
        ]
        return services

    @cached_property
    def _cluster(self) -> PostgresCluster:
        """PostgreSQL as its image runs it: a superuser with a password, and a database of that name."""
        service = self._services["database"]
        assert service["command"][:2] == ["postgres", "-c"]
        settings = dict(setting.split("=", 1) for setting in service["command"][2::2])
        cluster = self._stack.enter_context(PostgresCluster(is_durable=False, **settings))
        user, node = service["environment"]["POSTGRES_USER"], cluster.primary
        node.query(
            f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{service['environment']['POSTGRES_PASSWORD']}'"
        )
        node.query(f"CREATE DATABASE {user} OWNER {user}")
        (node.data / "pg_hba.conf").write_text(
            "local all all trust\nhost all all all scram-sha-256\n"
        )
        node.query("SELECT pg_reload_conf()")
        self._replaced["@database/"] = f"@127.0.0.1:{node.port}/"
        return cluster

    def type(self, line: str, stdin: str = "") -> None:
        """Carry out a line of the guide."""
        match line.split():
            case ["docker", "compose", "up", "--detach"]:
                self._up()
            case ["docker", "compose", "stop", *names]:
                for name in names:
                    self.stop(name)
            case ["docker", "compose", "start", *names]:
                for name in names:
                    self._start(name)
                    if "test" in self._services[name]["healthcheck"]:
                        self._wait_until_healthy(name)
            case ["cd" | "git", *_] | ["docker", "compose", "build"]:
                pass
            case _:
                inside = re.search(r"docker compose exec (?:-T )?(\w+) ", line)
                done = subprocess.run(
                    ["/bin/sh", "-c", line.replace(inside[0], "") if inside else line],
                    env=self._environment(inside[1]) if inside else {},
                    cwd=self._folder, input=stdin, text=True, capture_output=True,
                )  # fmt: skip
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"

    def _up(self) -> None:
        """Start what does not run, in the order of the dependencies."""
        dependencies = {
            name: service.get("depends_on", {}) for name, service in self._services.items()
        }
        for name in TopologicalSorter(dependencies).static_order():
            for other, how in dependencies[name].items():
                if how["condition"] == "service_healthy":
                    self._wait_until_healthy(other)
                else:
                    assert self._processes[other].wait(TIMEOUT_SECONDS) == 0, self.log(other)
            self._start(name)

    def _start(self, name: str) -> None:
        if name == "database":
            assert self._cluster.primary.pid
        elif name not in self._processes or self._processes[name].poll() is not None:
            if name == "proxy":
                self._write_caddyfile()
            service = self._services[name]
            entrypoint = json.loads(IMAGE["ENTRYPOINT"]) if service["image"] == "fieldgate" else []
            command = [*entrypoint, *(self._local(word, name) for word in service["command"])]
            with (self._folder / f"{name}.log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    command, env=self._environment(name), cwd=self._folder, stdout=log, stderr=log
                )
            self._stack.callback(self.stop, name)

    def stop(self, name: str) -> None:
        """Stop a service as an engine does. It ends without an error."""
        if self._processes[name].poll() is None:
            self._processes[name].terminate()
        assert self._processes[name].wait(TIMEOUT_SECONDS) == 0, self.log(name)

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def _wait_until_healthy(self, name: str) -> None:
        kind, *words = self._services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        command = [self._local(word, name) for word in words]
        until = time.monotonic() + TIMEOUT_SECONDS
        while subprocess.run(command, env=self._environment(name), capture_output=True).returncode:
            assert time.monotonic() < until, f"{name} is not healthy"
            time.sleep(0.1)

    def _local(self, text: str, name: str) -> str:
        """A text of the file or the image for this machine."""
        for written, here in {
            "127.0.0.1:8000": f"127.0.0.1:{self._ports.get(name)}",
            **self._replaced,
        }.items():
            text = text.replace(written, here)
        return text

    def _environment(self, name: str) -> dict[str, str]:
        """What the image and the file set, and what each process needs on this machine."""
        service, folder = self._services[name], str(self._folder)
        image = (
            dict(word.split("=", 1) for word in IMAGE["ENV"].split())
            if service["image"] == "fieldgate"
            else {}
        )
        written = {
            key: self._local(value, name)
            for key, value in {**image, **service["environment"]}.items()
        }
        path = os.pathsep.join(
            [str(Path(sys.executable).parent), str(PROGRAMS), os.environ["PATH"]]
        )
        here = {"PATH": path, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        if name in self._ports:
            here["FIELDGATE_PORT"] = str(self._ports[name])
        if name == "database":
            here |= {"PGHOST": str(self._cluster.folder), "PGPORT": str(self._cluster.primary.port)}
        return {**written, **here}

    def _write_caddyfile(self) -> None:
        """The packaged file as without internet, with other ports. Caddy must not change what this machine trusts."""
        own = f"http_port {free_port()}\nhttps_port {self._proxy_port}\ndefault_bind 127.0.0.1\nadmin off\n"
        start, first_block, rest = (PACKAGING / "Caddyfile").read_text().partition("\n{\n")
        text = f"{start}{first_block}local_certs\nskip_install_trust\n{own}{rest}"
        (self._folder / "Caddyfile").write_text(text)

    def client(self, site: str, address: str, **options: Any) -> httpx.Client:
        """A client of the proxy with this address, when the proxy has its certificate."""
        until = time.monotonic() + TIMEOUT_SECONDS
        while not (self._folder / f"caddy/certificates/local/{site}/{site}.json").exists():
            assert time.monotonic() < until, self.log("proxy")
            time.sleep(0.1)
        context = ssl.create_default_context(
            cafile=self._folder / "caddy/pki/authorities/local/root.crt"
        )
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self._proxy_port}",
            transport=httpx.HTTPTransport(verify=context, local_address=address),
            event_hooks={"request": [lambda request: request.extensions.update(sni_hostname=site)]},
            timeout=TIMEOUT_SECONDS,
            **options,
        )
