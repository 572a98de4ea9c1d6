"""URLs of PostgreSQL are read as libpq reads them: psql answers the same for each."""

import os
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fieldgate.db import Database
from fieldgate.db.postgres_url import PostgresURL
from tests.faults.postgres_cluster import PROGRAMS
from tests.processes import free_port


@pytest.mark.parametrize(
    ("text", "hosts", "database"),
    [
        ("postgresql://h1,h2/db", (("h1", 5432), ("h2", 5432)), "db"),
        ("postgres://u:p@h1:5433,h2:5434/db", (("h1", 5433), ("h2", 5434)), "db"),
        ("postgresql://[::1]:5433,[2001:db8::2]/db", (("::1", 5433), ("2001:db8::2", 5432)), "db"),
        ("postgresql:///db?host=h1,h2&port=1,2", (("h1", 1), ("h2", 2)), "db"),
        ("postgresql:///db?host=h1,h2&port=7", (("h1", 7), ("h2", 7)), "db"),
        ("postgresql://h1/db?host=h2", (("h2", 5432),), "db"),
        ("postgresql:///db?host=/run/postgresql", (("/run/postgresql", 5432),), "db"),
        ("postgresql://%2Frun%2Fpostgresql:5433/db", (("/run/postgresql", 5433),), "db"),
        ("postgresql:///db", (), "db"),
        ("postgresql://h1?dbname=other", (("h1", 5432),), "other"),
        ("postgresql+asyncpg://h1/db%2Fwith%20slash", (("h1", 5432),), "db/with slash"),
    ],
)
def test_hosts_and_database(text: str, hosts: tuple[tuple[str, int], ...], database: str) -> None:
    url = PostgresURL.parse(text)
    assert (url.hosts, url.database) == (hosts, database)
    assert Database(text).postgres_dsn == url.to_text(hide_password=False)
    again = PostgresURL.parse(Database(text).url.render_as_string(hide_password=False))
    assert (again.hosts, again.database) == (hosts, database)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("postgresql://u:se/cret@h/db", "percent-encoded"),
        ("postgresql://u:sec%ret@h/db", "percent-encoded"),
        ("postgresql://u:secret@h:0/db", "port"),
        ("postgresql://u:secret@h:x/db", "port"),
        ("postgresql://u:secret@h1,h2/db?port=1,2,3", "3 ports do not match 2 hosts"),
        ("postgresql://u:secret@h/", "name of a database"),
        ("postgresql://u:secret@h/db?secret", "name=value"),
        ("postgresql://u:secret@h/db?channel_binding=require", "channel_binding is not supported"),
        ("postgresql://u:secret@h/db?connect_timeout=soon", "connect_timeout"),
        ("mysql://u:secret@h/db", "postgresql://… is needed"),
    ],
)
def test_error_says_what_is_wrong_and_hides_the_password(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Database(text)
    assert "secret" not in str(caught.value)
    assert "se/cret" not in str(caught.value)


def test_address_for_messages_has_no_password() -> None:
    database = Database("postgresql://u:p%40ss@h1,[::1]:5433/db?target_session_attrs=read-write")
    assert database.address == "postgresql://u:***@h1,[::1]:5433/db"
    assert "p%40ss" in database.postgres_dsn


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
HOSTS = st.lists(
    st.tuples(st.sampled_from(["h1", "db.example.org", "::1", "10.0.0.1", "/run/x"]), st.integers(1, 65535)), max_size=3
)


@given(TEXTS, TEXTS, HOSTS, TEXTS)
@example("u", "p@:/?#[]%+& ", [("::1", 1)], "d")
@example("u", "***", [("h1", 1), ("/run/x", 2)], "d")
def test_text_is_read_back(user: str, password: str, hosts: list[tuple[str, int]], database: str) -> None:
    url = PostgresURL(user, password, tuple(hosts), database, {"application_name": "a+b c"})
    assert PostgresURL.parse(url.to_text(hide_password=False)) == url


@pytest.mark.parametrize("password", ["plain", "p@ss:w/o?r#d%", "a+b & c=d", "ü€ 'x' \"y\" \\"])
def test_psql_and_the_service_accept_the_same_url(postgres: str, password: str) -> None:
    """A dead host first, then the socket of the server; the password is checked by neither, but must not break it."""
    socket = PostgresURL.parse(postgres).hosts[0]
    url = PostgresURL("postgres", password, (("127.0.0.1", free_port()), socket), "postgres", {}).to_text(
        hide_password=False
    )
    command = [str(PROGRAMS / "psql"), "-XqAt", "-d", url, "-c", "SELECT 1"]
    assert subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout == "1\n"


async def test_service_connects_to_the_second_host(postgres: str) -> None:
    socket = PostgresURL.parse(postgres).hosts[0]
    url = PostgresURL("postgres", "p@ss/+", (("127.0.0.1", free_port()), socket), "postgres", {})
    for options in ({}, {"load_balance_hosts": "random"}, {"target_session_attrs": "read-write", "keepalives": "1"}):
        database = Database(url._replace(options=options).to_text(hide_password=False))
        connection = await database.connect()
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
        await database.close()
