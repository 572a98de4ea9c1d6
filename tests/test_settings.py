"""Settings from environment variables: valid, invalid and renamed ones."""

import ipaddress
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from fieldgate.settings import BadSetting, RateQuota, Settings, unknown_variables


def test_defaults() -> None:
    settings = Settings.from_environment(
        {"PATH": "/bin", "FIELDGATE_UNKNOWN": "x", "FIELDGATE_PORT": "  "}
    )
    assert settings == Settings()
    assert settings.database == "sqlite:///data/fieldgate.db"


def test_every_kind_of_setting() -> None:
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
            "FIELDGATE_RESPONSE_CACHE_SIZE": "1 GiB",
            "FIELDGATE_RECORD_CACHE_SIZE": "8MiB",
            "FIELDGATE_IMPORT_HOSTS": "Forms.Example, .camp.example,files.example:8443, München.example",
            "FIELDGATE_READ_RATE": "6000/1m",
            "FIELDGATE_WRITE_RATE": "OFF",
            "FIELDGATE_ADDRESS_READ_RATE": "5/1s",
            "FIELDGATE_ADDRESS_WRITE_RATE": "100/2h",
            "FIELDGATE_RATE_LIMIT_EXEMPT": "none",
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
        response_cache_size=1024**3,
        record_cache_size=8 * 1024**2,
        import_hosts=(
            "forms.example",
            ".camp.example",
            "files.example:8443",
            "xn--mnchen-3ya.example",
        ),
        read_rate=RateQuota(6000, 60),
        write_rate=None,
        address_read_rate=RateQuota(5, 1),
        address_write_rate=RateQuota(100, 7200),
        rate_limit_exempt=(),
        metrics_from=(ipaddress.ip_network("::1/128"),),
        access_log=False,
        log_level="warning",
    )
    assert settings.database == "postgresql://h/d"


@pytest.mark.parametrize("field", msgspec.structs.fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_read_as_its_type(field: msgspec.structs.FieldInfo) -> None:
    with suppress(BadSetting):
        value = getattr(
            Settings.from_environment({f"FIELDGATE_{field.name.upper()}": "no"}), field.name
        )
        assert isinstance(value, str) == isinstance(field.default, str)


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
        ("FIELDGATE_HSTS_MAX_AGE", "0"),
        ("FIELDGATE_HSTS_MAX_AGE", "yes"),
        ("FIELDGATE_RESPONSE_CACHE_SIZE", "64 MB"),
        ("FIELDGATE_LOG_LEVEL", "loud"),
        ("FIELDGATE_READ_RATE", "0/1m"),
        ("FIELDGATE_READ_RATE", "60"),
        ("FIELDGATE_WRITE_RATE", "60/m"),
        ("FIELDGATE_ADDRESS_READ_RATE", "٦٠/1m"),
        ("FIELDGATE_ADDRESS_WRITE_RATE", "60/1d"),
        ("FIELDGATE_RATE_LIMIT_EXEMPT", "office"),
    ],
)
def test_invalid_value_is_an_error_that_names_the_variable(variable: str, value: str) -> None:
    with pytest.raises(BadSetting, match=rf"^{variable}: .+"):
        Settings.from_environment({variable: value})


@pytest.mark.parametrize(
    "host",
    ["*", "https://forms.example", "forms.example/x", "127.0.0.1", "2130706433", "0x7f.0x1", "[::1]", "::1", ".",
     "forms.example:", "forms.example:0", "forms.example:http", "a..example", "a b.example", "☃.example"],
)  # fmt: skip
def test_import_hosts_must_be_host_names(host: str) -> None:
    with pytest.raises(
        BadSetting, match=r"^FIELDGATE_IMPORT_HOSTS: expected host names such as forms.example.org"
    ):
        Settings.from_environment({"FIELDGATE_IMPORT_HOSTS": f"forms.example, {host}"})


def test_other_variables_are_unknown() -> None:
    assert unknown_variables(
        {"FIELDGATE_RESPONSE_CACHE_SIZE": "1KiB", "FIELDGATE_TYPO": "1", "OTHER": "1"}
    ) == ["FIELDGATE_TYPO"]


@pytest.mark.parametrize(
    ("value", "expected"), [("2d", 2 * 24 * 60 * 60), ("0s", 0), ("Off", None), ("", 31536000)]
)
def test_hsts_max_age(value: str, expected: int | None) -> None:
    assert Settings.from_environment({"FIELDGATE_HSTS_MAX_AGE": value}).hsts_max_age == expected
