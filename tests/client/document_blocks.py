"""Examples of a document, run in their order as a reader would: Python in one session, shell commands in one folder.

A comment in the line before a block says what is special about it:

    <!-- output -->          the block is what the block before prints; … stands for any text
    <!-- exit status 6 -->   the command ends with this status
    <!-- typed "text" -->    what the reader types when the command asks
    <!-- stays "text" -->    when it printed this text, it goes on, and the next block is typed into the other terminal
    <!-- after Ctrl-C -->    the command in the other terminal is interrupted first, and ends with status 0
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.processes import TIMEOUT_SECONDS

_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<language>[a-z]+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    place: str  # document:line
    language: str
    text: str
    note: str

    def noted(self, word: str) -> str:
        """What a comment says after this word, without quotes; empty if it does not begin with it."""
        return (
            self.note.removeprefix(word).strip().strip('"')
            if self.note.startswith(f"{word} ")
            else ""
        )


def read_blocks(document: Path) -> list[Block]:
    source = document.read_text()
    return [
        Block(
            f"{document.name}:{source.count(chr(10), 0, found.start('text'))}",
            found["language"],
            found["text"],
            found["note"] or "",
        )
        for found in _BLOCK.finditer(source)
    ]


class Reader:
    """A person who types the examples of a document, with a server of their own."""

    def __init__(
        self,
        folder: Path,
        python: "PythonSession",
        substitutions: Mapping[str, str],
        environment: Mapping[str, str],
    ) -> None:
        self._folder = folder
        self._python = python
        self._substitutions = substitutions
        self._environment = {**os.environ, **environment}
        self._exports = ""  # `export` lines hold for all later commands in the same terminal
        self._other_exports = ""
        self._staying: subprocess.Popen[bytes] | None = None  # the command in the other terminal
        self.ran: list[str] = []

    def run(self, blocks: list[Block]) -> None:
        printed = ""
        for block in blocks:
            if block.note == "output":
                assert_output(printed, self._own(block.text), block.place)
            elif block.language == "python":
                printed = self._run_python(block)
            elif block.language == "sh":
                if block.note == "after Ctrl-C":
                    self.interrupt()
                printed = self._run_shell(block)
            else:
                continue
            self.ran.append(block.place)

    def typed(self, block: Block) -> str:
        """The text with the address and the token of the reader's server."""
        return self._own(block.text)

    def _own(self, text: str) -> str:
        for shown, own in self._substitutions.items():
            text = text.replace(shown, own)
        return text

    def _run_python(self, block: Block) -> str:
        output, failure = self._python.execute(
            "\n" * _line(block) + self.typed(block), block.place, self._folder
        )
        assert not failure, f"{block.place}: {failure}"
        return output

    def _run_shell(self, block: Block) -> str:
        script = self.typed(block)
        if block.noted("stays"):
            return self._run_in_other_terminal(script, block)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self._exports + script],
            cwd=self._folder,
            env=self._environment,
            input=self._own(block.noted("typed")),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        expected = int(block.noted("exit status") or 0)
        assert done.returncode == expected, (
            f"{block.place}: {done.returncode}\n{script}\n{done.stdout}\n{done.stderr}"
        )
        self._exports += "".join(
            f"{line}\n" for line in script.splitlines() if line.startswith("export ")
        )
        return done.stdout + done.stderr

    def _run_in_other_terminal(self, script: str, block: Block) -> str:
        """Run a command that does not end by itself, until it has printed a text. It goes on."""
        process = subprocess.Popen(
            ["bash", "-c", f"{self._exports}exec {script}"],
            cwd=self._folder,
            env={**self._environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout
        assert self._staying is None, f"{block.place}: a command is still running"
        self._staying = process
        self._exports, self._other_exports = self._other_exports, self._exports
        text, printed = block.noted("stays"), ""
        while text not in printed:
            data = os.read(process.stdout.fileno(), 65536)
            assert data, f"{block.place}: {printed}"
            printed += data.decode()
        return printed

    def interrupt(self) -> None:
        """Press Ctrl-C in the other terminal, if a command is running there."""
        process, self._staying = self._staying, None
        if process is not None:
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=TIMEOUT_SECONDS)
            assert process.returncode == 0, printed.decode()


class PythonSession:
    """Python in a process of its own, as with a notebook: blocks see what those before defined in the same folder."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SESSION],
            env={**os.environ, **python_environment()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def execute(self, code: str, place: str, folder: Path) -> tuple[str, str]:
        """What the code printed, and the traceback if it failed."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([code, place, str(folder)]) + "\n")
        self._process.stdin.flush()
        output, failure = json.loads(self._process.stdout.readline())
        return output, failure

    def close(self) -> None:
        """End the session. Clients that were not closed must not keep it running."""
        self._process.communicate(timeout=TIMEOUT_SECONDS)
        assert self._process.returncode == 0


_SESSION = """
import contextlib, io, json, os, sys, traceback

sessions = {}
for line in sys.stdin:
    code, place, folder = json.loads(line)
    os.chdir(folder)
    failure = ""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            exec(compile(code, place, "exec"), sessions.setdefault(folder, {"__name__": "__main__"}))
        except BaseException:
            failure = traceback.format_exc()
    print(json.dumps([output.getvalue(), failure]), flush=True)
"""


def assert_output(printed: str, shown: str, place: str) -> None:
    pattern = re.escape(_normal(shown)).replace("…", ".*?")
    assert re.fullmatch(pattern, _normal(printed), re.DOTALL), f"{place}: printed\n{printed}"


def _normal(text: str) -> str:
    """Without blank lines at the ends, and with single spaces: tables are as wide as the terminal allows."""
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def _line(block: Block) -> int:
    return int(block.place.rpartition(":")[2])


def python_environment() -> dict[str, str]:
    """Commands are those of the environment that the tests run in."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "MPLBACKEND": "Agg",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
