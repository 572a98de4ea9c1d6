"""Carry out a Containerfile without a container engine: chroot, bind mounts and copies of folders."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent.parent
CONTAINERFILE = SOURCE / "Containerfile"
ONLY_FOR_AN_ENGINE = ("LABEL", "EXPOSE", "STOPSIGNAL")


def read_instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Containerfile: the word and the rest."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), rest.strip()


class BuildStage:
    """One stage of a Containerfile: its files, variables and configuration."""

    def __init__(self, root: Path, base: Path) -> None:
        self.root = root
        subprocess.run(["cp", "--archive", "--reflink=auto", base, root], check=True)
        self.variables = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
        }
        self.folder = "/"
        self.user = "0:0"
        self.volumes: list[str] = []
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self.health_check: list[str] = []

    def apply(self, word: str, rest: str, stages: dict[str, "BuildStage"]) -> None:
        match word:
            case "ENV":
                self.variables |= dict(part.split("=", 1) for part in shlex.split(rest))
            case "WORKDIR":
                self.folder = os.path.join(self.folder, rest)  # noqa: PTH118  (a path inside of the root)
                self._outside("").mkdir(parents=True, exist_ok=True)
            case "RUN":
                self.run(rest)
            case "COPY":
                self._copy(shlex.split(rest), stages)
            case "USER":
                self.user = rest
            case "VOLUME":
                self.volumes = json.loads(rest)
            case "HEALTHCHECK":
                self.health_check = json.loads(rest.partition(" CMD ")[2])
            case "ENTRYPOINT":
                self.entrypoint = json.loads(rest)
            case "CMD":
                self.command = json.loads(rest)
            case _:
                assert word in ONLY_FOR_AN_ENGINE, f"{word} is not known here"

    def _outside(self, path: str) -> Path:
        """Where a path inside of the root is outside of it."""
        return self.root / os.path.join(self.folder, path).lstrip("/")  # noqa: PTH118

    def run(self, command: str) -> None:
        """Run a shell command as root inside."""
        mounts = (
            'mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"'
        )
        inside = ["/bin/sh", "-c", f"cd {shlex.quote(self.folder)} && {command}"]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", mounts, self.root, *inside],
            env=self.variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"RUN {command}\n{done.stdout}\n{done.stderr}"

    def _copy(self, words: list[str], stages: dict[str, "BuildStage"]) -> None:
        origin, ignored = SOURCE, shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")
        if words[0].startswith("--from="):
            origin, ignored = (
                stages[words.pop(0).removeprefix("--from=")].root,
                shutil.ignore_patterns(),
            )
        *sources, target = words
        into = self._outside(target)
        for source in sources:
            found = origin / source.lstrip("/")
            if found.is_dir():
                shutil.copytree(found, into, symlinks=True, dirs_exist_ok=True, ignore=ignored)
            else:
                place = into / found.name if target.endswith("/") else into
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(found, place)


def build_image(base: Path, folder: Path) -> BuildStage:
    """Carry out all instructions with `base` as the base image, and return the last stage."""
    stages: dict[str, BuildStage] = {}
    stage: BuildStage | None = None
    for word, rest in read_instructions(CONTAINERFILE.read_text()):
        if word == "FROM":
            name = rest.rpartition(" AS ")[2] if " AS " in rest else f"stage{len(stages)}"
            stage = stages[name] = BuildStage(folder / name, base)
        elif stage is not None:
            stage.apply(word, rest, stages)
        else:
            assert word == "ARG", "only the base image is set before FROM"
    assert stage is not None
    return stage
