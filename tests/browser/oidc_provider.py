"""A certified provider of single sign-on, `oidc-provider` from npm, in a process of its own."""

import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from tests.npm import NODE, node_modules
from tests.processes import free_port

CLIENT_SECRET = "a secret: 100 % + more"
_SCRIPT = Path(__file__).parent / "oidc_provider.mjs"


class OIDCProviderProcess:
    """To be used in a `with` block. It is another site than the service: localhost, which is 127.0.0.1 there."""

    def __init__(self, folder: Path, id: str, service_url: str) -> None:
        """The folder is for the script: Node finds packages next to scripts only."""
        folder.mkdir(exist_ok=True)
        (folder / "node_modules").symlink_to(node_modules())
        self._script = Path(shutil.copy(_SCRIPT, folder))
        self.id = id
        self.port = free_port()
        self.issuer = f"http://localhost:{self.port}"
        self._service_url = service_url

    def __enter__(self) -> "OIDCProviderProcess":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(
        self, *, code_delay: int = 0, clock_difference: int = 0, wrong_issuer: str = ""
    ) -> None:
        """Start it at the same address as before, with new keys, without the sessions and grants that it had."""
        options = {
            "issuer": self.issuer,
            "port": self.port,
            "clientSecret": CLIENT_SECRET,
            "redirectURIs": [f"{self._service_url}/login/{self.id}/callback/"],
            "postLogoutURIs": [f"{self._service_url}/login/"],
            "codeDelaySeconds": code_delay,
            "clockDifferenceSeconds": clock_difference,
            "wrongIssuer": wrong_issuer,
        }
        self._process = subprocess.Popen(
            [NODE, self._script, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self._process.stdout
        lines = iter(self._process.stdout.readline, "")
        assert any(line == "listening\n" for line in lines), "oidc-provider did not start"

    def stop(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def settings(self) -> str:
        """Its entry in the file of providers."""
        return f"""
[[provider]]
id = "{self.id}"
name = "Red Cross account ({self.id})"
issuer = "{self.issuer}"
client_id = "fieldgate"
client_secret = "{CLIENT_SECRET}"
create_users = true
"""
