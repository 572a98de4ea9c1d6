"""Run `fieldgate` commands in forks of a process that has imported them already.

A command is a process of its own, as for a person, but starts in milliseconds: importing takes most of a second.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

MAX_MESSAGE_BYTES = 1024 * 1024
ERROR_STATUS = 1


def run(
    arguments: Sequence[str], *, stdin: str, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a command and wait until it ends."""
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        given.write(stdin)
        given.seek(0)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout)
            connection.connect(_address())
            message = json.dumps(
                {
                    "arguments": list(arguments),
                    "environment": dict(environment),
                    "folder": str(Path.cwd()),
                }
            )
            socket.send_fds(
                connection,
                [len(message.encode()).to_bytes(4)],
                [given.fileno(), out.fileno(), err.fileno()],
            )
            connection.sendall(message.encode())
            status = int(connection.recv(16))
        return subprocess.CompletedProcess(list(arguments), status, _content(out), _content(err))


def _content(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


@cache
def _address() -> str:
    """Start the server, once in each process of pytest. It ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="fieldgate-commands-")
    address = str(Path(folder.name) / "socket")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.command_server", address], stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"

    def stop() -> None:
        server.kill()
        server.wait()
        folder.cleanup()

    atexit.register(stop)
    return address


def main() -> None:
    import fieldgate.app
    import fieldgate.cli  # noqa: F401

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> NoReturn:
    """Run the command that a connection asks for in another fork, and send its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    start, files, _, _ = socket.recv_fds(connection, 4, 3)
    message = b""
    while len(message) < int.from_bytes(start):
        message += connection.recv(MAX_MESSAGE_BYTES)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _run_command(json.loads(message), files)
    _, status = os.waitpid(pid, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _run_command(message: Mapping[str, object], files: Sequence[int]) -> NoReturn:
    from fieldgate.cli import main as fieldgate_main

    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    environment, arguments = message["environment"], message["arguments"]
    assert isinstance(environment, dict)
    assert isinstance(arguments, list)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(message["folder"]))
    status = ERROR_STATUS
    try:
        fieldgate_main(arguments, prog_name="fieldgate")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else ERROR_STATUS if end.code else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
