"""Settings from the environment: what can be read, and what is refused with a reason."""

import ipaddress
from pathlib import Path

import pytest

from fieldgate.settings import BadSetting, Settings


def test_defaults() -> None:
    settings = Settings.from_environment({"PATH": "/bin", "FIELDGATE_UNKNOWN": "x", "FIELDGATE_PORT": "  "})
    assert settings == Settings()
    assert settings.database == "sqlite:///data/fieldgate.db"


def test_everything_can_be_set() -> None:
    settings = Settings.from_environment(
        {
            "FIELDGATE_DATA": "/srv/field",
            "FIELDGATE_DATABASE_URL": "postgresql://h/d",
            "FIELDGATE_HOST": "0.0.0.0",
            "FIELDGATE_PORT": "9000",
            "FIELDGATE_BASE_URL": "https://field.example/gate/",
            "FIELDGATE_ALLOWED_HOSTS": "Field.Example, .camp.example,",
            "FIELDGATE_TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.7",
            "FIELDGATE_CORS_ORIGINS": "https://map.example",
            "FIELDGATE_CORS_CREDENTIALS": "yes",
            "FIELDGATE_TOKEN_LIFETIME": "90d",
            "FIELDGATE_SESSION_LIFETIME": "12h",
            "FIELDGATE_KEPT_ANSWERS": "1 GiB",
            "FIELDGATE_KEPT_RECORDS": "8MiB",
            "FIELDGATE_IMPORT_HOSTS": "Forms.Example, .camp.example,files.example:8443, München.example",
            "FIELDGATE_METRICS_FROM": "::1",
            "FIELDGATE_ACCESS_LOG": "off",
            "FIELDGATE_LOG_LEVEL": "WARNING",
        }
    )
    assert settings == Settings(
        data=Path("/srv/field"),
        database_url="postgresql://h/d",
        host="0.0.0.0",
        port=9000,
        base_url="https://field.example/gate",
        allowed_hosts=("field.example", ".camp.example"),
        trusted_proxies=(ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("192.0.2.7/32")),
        cors_origins=("https://map.example",),
        cors_credentials=True,
        token_lifetime=90 * 24 * 60 * 60,
        session_lifetime=12 * 60 * 60,
        kept_answers=1024**3,
        kept_records=8 * 1024**2,
        import_hosts=("forms.example", ".camp.example", "files.example:8443", "xn--mnchen-3ya.example"),
        metrics_from=(ipaddress.ip_network("::1/128"),),
        access_log=False,
        log_level="warning",
    )
    assert settings.database == "postgresql://h/d"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FIELDGATE_PORT", "65536"),
        ("FIELDGATE_PORT", "-1"),
        ("FIELDGATE_PORT", "٨٠"),
        ("FIELDGATE_BASE_URL", "field.example"),
        ("FIELDGATE_BASE_URL", "ftp://field.example"),
        ("FIELDGATE_BASE_URL", "https://field.example/?x"),
        ("FIELDGATE_TRUSTED_PROXIES", "proxy.example"),
        ("FIELDGATE_CORS_CREDENTIALS", "maybe"),
        ("FIELDGATE_CORS_CREDENTIALS", "true"),
        ("FIELDGATE_TOKEN_LIFETIME", "soon"),
        ("FIELDGATE_TOKEN_LIFETIME", "0d"),
        ("FIELDGATE_KEPT_ANSWERS", "64 MB"),
        ("FIELDGATE_LOG_LEVEL", "loud"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(variable: str, value: str) -> None:
    with pytest.raises(BadSetting, match=rf"^{variable}: .+"):
        Settings.from_environment({variable: value})


@pytest.mark.parametrize(
    "host",
    ["*", "https://forms.example", "forms.example/x", "127.0.0.1", "2130706433", "0x7f.0x1", "[::1]", "::1", ".",
     "forms.example:", "forms.example:0", "forms.example:http", "a..example", "a b.example", "☃.example"],
)  # fmt: skip
def test_files_are_fetched_from_names_only(host: str) -> None:
    with pytest.raises(BadSetting, match=r"^FIELDGATE_IMPORT_HOSTS: host names such as forms.example.org are needed"):
        Settings.from_environment({"FIELDGATE_IMPORT_HOSTS": f"forms.example, {host}"})
