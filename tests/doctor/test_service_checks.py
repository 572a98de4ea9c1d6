"""What a service on this machine says about itself."""

from urllib.parse import urlsplit

import pytest

from fieldgate.doctor.findings import Level
from fieldgate.doctor.service_checks import check_service
from fieldgate.settings import Settings
from tests.client.stand_ins.loopback_server import LoopbackServer, Reply, json_reply


@pytest.mark.parametrize(
    ("reply", "level", "message"),
    [
        (json_reply({"detail": "Disk full.", "reason": "disk_full"}, 503), Level.ERROR, "is not ready. Disk full."),
        (Reply(503, b"<h1>Busy</h1>", content_type="text/html"), Level.ERROR, "is not ready."),
        (json_reply(["another program"], 503), Level.ERROR, "is not ready."),
        (Reply(404), Level.WARNING, "it may be another program."),
        (json_reply({}), Level.OK, "is ready."),
    ],
)
async def test_answers(reply: Reply, level: Level, message: str) -> None:
    with LoopbackServer(lambda _: reply) as server:
        settings = Settings(host="127.0.0.1", port=urlsplit(server.base_url).port or 0)
        (found,) = [finding async for finding in check_service(settings)]
    assert found.level == level
    assert found.message.endswith(message)
