"""Settings that have no effect, contradict each other, or open too much."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fieldgate.doctor.findings import Level
from fieldgate.doctor.service_checks import check_service
from fieldgate.doctor.settings_checks import check_settings
from fieldgate.settings import Settings
from tests.client.stand_ins.loopback_server import LoopbackServer, Reply, json_reply

FIELD = "https://field.example.org"


def messages(**environment: str) -> list[str]:
    variables = {f"FIELDGATE_{name}": value for name, value in environment.items()}
    found = check_settings(Settings.from_environment(variables), variables)
    return [f"{finding.level}: {finding.message} {finding.advice}" for finding in found]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"BASE_URL": FIELD, "ALLOWED_HOSTS": "field.example.org", "TRUSTED_PROXIES": "10.0.0.1"},
        {"BASE_URL": FIELD, "ALLOWED_HOSTS": ".example.org"},
        {"HOST": "0.0.0.0", "BASE_URL": FIELD},
        {"BASE_URL": "http://127.0.0.1:8000"},
        {"METRICS_FROM": "10.1.2.0/24"},
    ],
)
def test_good_settings(environment: dict[str, str]) -> None:
    assert messages(**environment) == ["ok: All settings are known and fit together. "]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            {"BASEURL": "x"},
            "FIELDGATE_BASEURL is not a setting and has no effect. Did you mean FIELDGATE_BASE_URL?",
        ),
        ({"ZZZ": "x"}, "Remove it."),
        ({"DATA": "x", "DATABASE_URL": "postgresql://h/d"}, "FIELDGATE_DATA has no effect"),
        (
            {"BASE_URL": FIELD, "ALLOWED_HOSTS": "example.org"},
            "Add field.example.org to FIELDGATE_ALLOWED_HOSTS.",
        ),
        ({"BASE_URL": "http://field.example.org"}, "without encryption"),
        ({"HOST": "0.0.0.0"}, "listens on all addresses, and no proxy is configured"),
        ({"TRUSTED_PROXIES": "0.0.0.0/0"}, "FIELDGATE_TRUSTED_PROXIES has 0.0.0.0/0"),
        ({"METRICS_FROM": "::/0"}, "FIELDGATE_METRICS_FROM has ::/0"),
    ],
)
def test_doubtful_settings(environment: dict[str, str], expected: str) -> None:
    (found,) = messages(**environment)
    assert found.startswith(Level.WARNING)
    assert expected in found


def test_data_of_the_command_line_is_not_a_variable() -> None:
    (finding,) = check_settings(Settings(data=Path("x"), database_url="postgresql://h/d"), {})
    assert finding.level == Level.OK


@pytest.mark.parametrize(
    ("reply", "level", "message"),
    [
        (
            json_reply({"detail": "Disk full.", "reason": "disk_full"}, 503),
            Level.ERROR,
            "is not ready. Disk full.",
        ),
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
