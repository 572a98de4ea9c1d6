"""URLs of PostgreSQL: errors hide the password, and the driver connects to the host that was asked for."""

import pytest

from fieldgate.db import Database
from fieldgate.db.postgres_url import PostgresURL
from tests.processes import free_port


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("postgresql://u:se/cret@h/db", "percent-encoded"),
        ("postgresql://u:sec%ret@h/db", "percent-encoded"),
        ("postgresql://u:secret@h:x/db", "port"),
        ("postgresql://u:sec#ret@h/db", "percent-encoded"),
        ("postgresql://u:secret@h/", "name of a database"),
        ("postgresql://u:secret@h/db?secret", "name=value"),
        ("mysql://u:secret@h/db", "postgresql://… is needed"),
    ],
)
def test_error_says_what_is_wrong_and_hides_the_password(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Database(text)
    assert "secret" not in str(caught.value)
    assert "se/cret" not in str(caught.value)


def test_address_for_messages_has_no_password() -> None:
    database = Database("postgresql://u:p%40ss@h1:1,[::1]:5433/db?password=p%40ss&target_session_attrs=read-write")
    assert database.address == "postgresql://u:***@h1:1,[::1]:5433/db"
    assert "p%40ss" in database.postgres_url.text


def test_url_for_commands_has_no_secrets() -> None:
    url = PostgresURL.parse("postgres://u:p%40ss@h1,h2/db?sslpassword=x&password=y&sslmode=require")
    assert url.without_secrets().text == "postgresql://u@h1,h2/db?sslmode=require"


@pytest.mark.parametrize("options", ["", "&target_session_attrs=read-write"])
async def test_second_host_is_used_if_the_first_does_not_answer(postgres: str, options: str) -> None:
    """With a password that has to be encoded; nobody checks it."""
    url = PostgresURL.parse(postgres)
    (socket,) = (option.removeprefix("host=") for option in url.options if option.startswith("host="))
    places = f"host=127.0.0.1,{socket}&port={free_port()},5432"
    database = Database(f"postgresql://{url.user}:p%40ss%2F@/{url.database}?{places}{options}")
    connection = await database.connect()
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
    await database.close()
