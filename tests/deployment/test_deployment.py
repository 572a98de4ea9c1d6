"""The Containerfile and the systemd units."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fieldgate.imports.sandbox.confinement import landlock_abi
from tests.client.document_blocks import read_blocks
from tests.deployment.confined_root import ConfinedRoot
from tests.deployment.containerfile import (
    CONTAINERFILE,
    SOURCE,
    BuildStage,
    build_image,
    read_instructions,
)
from tests.deployment.systemd_unit import PACKAGING, allowed_calls, confining_wrapper, read_unit
from tests.processes import free_port

UNITS = ("fieldgate.service", "fieldgate-worker.service")
BARE_DEBIAN = os.environ.get("BARE_DEBIAN")  # a folder that keeps the bare Debian between runs
TIMEOUT_SECONDS = 120
PASSWORD = "correct horse"
FORM = b"type,name,label\r\ntext,name,Name\r\n"


def test_containerfile_says_what_it_should() -> None:
    instructions = list(read_instructions(CONTAINERFILE.read_text()))
    words = [word for word, _ in instructions]
    last_stage = instructions[len(words) - words[::-1].index("FROM") :]
    assert [rest for word, rest in last_stage if word == "USER"] == ["10001:10001"]
    assert {"VOLUME", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"} <= {
        word for word, _ in last_stage
    }
    for word, rest in instructions:
        if word == "RUN" and "pip install" in rest:
            assert (
                "--require-hashes --only-binary :all:" in rest or "--no-deps --no-index" in rest
            ), rest


def test_containerignore_lets_through_what_is_copied() -> None:
    let_through = re.findall(r"^!(\S+)$", (SOURCE / ".containerignore").read_text(), re.MULTILINE)
    sources = [
        source
        for word, rest in read_instructions(CONTAINERFILE.read_text())
        if word == "COPY" and not rest.startswith("--from=")
        for source in rest.split()[:-1]
    ]
    assert {source.split("/")[0] for source in sources} == {*let_through}
    assert all((SOURCE / source).exists() for source in sources)
    assert (SOURCE / ".dockerignore").read_text() == (SOURCE / ".containerignore").read_text()


def test_both_units_have_the_same_hardening() -> None:
    service, worker = (read_unit(PACKAGING / name) for name in UNITS)
    assert {
        name for name in service.keys() | worker.keys() if service.get(name) != worker.get(name)
    } == {
        "Description",
        "ExecStart",
    }
    assert service["CapabilityBoundingSet"] == [""]
    assert service["ProtectSystem"] == ["strict"]


@pytest.fixture(scope="module")
def bare_debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    assert os.geteuid() == 0, "debootstrap, chroot and mounts need root"
    folder = tmp_path_factory.mktemp("bare")
    base = Path(BARE_DEBIAN) if BARE_DEBIAN else folder / "debian"
    if not (base / "usr/bin/python3").exists():
        packages = "--include=ca-certificates,python3,python3-venv,systemd"
        subprocess.run(["debootstrap", "--variant=minbase", packages, "bookworm", base], check=True)
    for name in ("resolv.conf", "ssl/certs/ca-certificates.crt"):  # this machine may have its own
        (base / "etc" / name).unlink(missing_ok=True)
        shutil.copyfile(Path("/etc", name), base / "etc" / name)
    yield base
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def image(bare_debian: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuildStage]:
    """The result of the Containerfile, on a bare Debian instead of the base image."""
    folder = tmp_path_factory.mktemp("image")
    yield build_image(bare_debian, folder)
    shutil.rmtree(folder)


@pytest.mark.nightly
def test_image_works_like_in_a_container(image: BuildStage, tmp_path: Path) -> None:
    uid, gid = map(int, image.user.split(":"))
    variables = {**image.variables, "FIELDGATE_PORT": str(free_port())}
    root = ConfinedRoot(image.root, tmp_path / "data", (uid, gid), variables)
    assert root.run("sh", "-c", "command -v gcc cc make; echo none").stdout == "none\n"
    check_service(root, image, int(variables["FIELDGATE_PORT"]), tmp_path / "log")


@pytest.mark.nightly
def test_service_works_with_the_restrictions_of_the_unit(image: BuildStage, tmp_path: Path) -> None:
    """All of the unit that does not need systemd itself: file systems, users, capabilities, limits and all filters."""
    unit = read_unit(PACKAGING / "fieldgate.service")
    calls = allowed_calls(unit)
    assert {"execve", "landlock_restrict_self", "prlimit64"} <= {*calls}
    assert not {"mount", "ptrace", "setuid", "chroot", "bpf", "keyctl", "reboot"} & {*calls}
    port = free_port()
    variables = dict(word.split("=", 1) for word in unit["Environment"][0].split())
    variables |= {"PATH": "/usr/bin:/bin", "FIELDGATE_PORT": str(port), "FIELDGATE_HOST": "0.0.0.0"}
    root = ConfinedRoot(
        image.root, tmp_path / "data", (999, 999), variables,
        wrapper=confining_wrapper(unit), proc_options="nosuid,nodev,noexec,hidepid=invisible,subset=pid",
    )  # fmt: skip
    landlock = (
        "from fieldgate.imports.sandbox.confinement import restrict_with_landlock as f; print(f())"
    )
    inside = root.run("/opt/fieldgate/bin/python", "-c", landlock).stdout
    assert inside == f"{landlock_abi() > 0}\n", (
        "the kernel confines the import sandbox as it does without the filters"
    )
    program, *options = unit["ExecStart"][0].split()
    image.entrypoint, image.command = [program], options
    check_service(root, image, port, tmp_path / "log")


@pytest.mark.nightly
def test_installation_under_systemd(bare_debian: Path, tmp_path: Path) -> None:
    """The commands of docs/operations.md, in a bare Debian. There systemctl enables it, and does not start it."""
    stage = BuildStage(tmp_path / "root", bare_debian)
    stage.variables["SYSTEMD_OFFLINE"] = "1"
    checkout = stage.root / "srv"
    for name in ("requirements", "packaging"):
        shutil.copytree(SOURCE / name, checkout / name)
    subprocess.run(
        [sys.executable, SOURCE / "scripts" / "build-packages", checkout / "dist"], check=True
    )
    stage.folder = "/srv"
    [block] = [
        each for each in read_blocks(SOURCE / "docs" / "operations.md") if each.note == "as root"
    ]
    stage.run(f"set -eu\n{block.text}")
    stage.run(
        "/opt/fieldgate/bin/fieldgate --version && id fieldgate && systemctl is-enabled fieldgate"
    )
    security = "systemd-analyze security --offline=true --threshold=20 fieldgate.service fieldgate-worker.service"
    stage.run(security)  # of 100: the document says 1.4 of 10
    shutil.rmtree(stage.root)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [("check", "rules", "prometheus-alerts.yml"), ("test", "rules", "prometheus-alerts.test.yml")],
)
def test_alerts_with_promtool(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *words], cwd=PACKAGING, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stdout + done.stderr


def check_service(root: ConfinedRoot, image: BuildStage, port: int, log: Path) -> None:
    """The service works, as a user without rights on a read-only file system."""
    for folder in ("/", "/etc", "/opt/fieldgate/lib"):
        assert "Read-only file system" in root.run("sh", "-c", f"LC_ALL=C touch {folder}/x").stderr
    create = ("user", "create", "admin", "--superuser", "--password-stdin")
    made = root.run(*image.entrypoint, *create, stdin=PASSWORD + "\n")
    assert made.stdout == "user admin created\n", made.stderr
    served = root.start(*image.entrypoint, *image.command, log=log)
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", auth=("admin", PASSWORD), timeout=60
        ) as client:
            until = time.monotonic() + TIMEOUT_SECONDS
            while b"listening on" not in log.read_bytes():
                assert served.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            if port == int(image.variables.get("FIELDGATE_PORT", 0)):
                assert root.run(*image.health_check).returncode == 0
            for path in (
                "/readyz",
                "/api/v2/permissions/",
                "/api/v2/permissions/?format=api",
                "/metrics",
            ):
                assert client.get(path).status_code == 200, path
            check_import(client, log)
        status = Path(f"/proc/{served.pid}/status").read_text()
        assert re.search(r"^CapBnd:\t0+$", status, re.MULTILINE)
        assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
        assert not re.search(r"^Uid:\t0\b", status, re.MULTILINE)
    finally:
        served.terminate()
        ended = served.wait(TIMEOUT_SECONDS)
    assert ended == 0, log.read_text()


def check_import(client: httpx.Client, log: Path) -> None:
    """A file is read in the sandbox, and content is checked in that of the requests."""
    made = client.post("/api/v2/imports/", files={"file": ("survey.csv", FORM)})
    assert made.status_code == 201, made.text
    until = time.monotonic() + TIMEOUT_SECONDS
    while (record := client.get(f"/api/v2/imports/{made.json()['uid']}/").json())[
        "status"
    ] != "complete":
        assert record["status"] != "error", f"{record}\n{log.read_text()}"
        assert time.monotonic() < until, record
        time.sleep(0.2)
    content = {"survey": [{"type": "text", "name": "a", "label": ["A"]}], "settings": {}}
    checked = client.post(
        "/api/v2/assets/", json={"name": "x", "asset_type": "survey", "content": content}
    )
    assert checked.status_code == 201, checked.text
