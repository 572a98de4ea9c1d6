"""CSRF tokens: another one for every page, and valid in one session only."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.identity import AuthMethod, Caller, csrf_token


def _caller(session: str) -> Caller:
    return Caller(id=1, auth_method=AuthMethod.SESSION, secret=session)


@given(st.text(), st.text())
def test_token_is_valid_in_its_session_only(session: str, other: str) -> None:
    token = csrf_token(session)
    assert _caller(session).accepts_csrf_token(token)
    assert _caller(other).accepts_csrf_token(token) == (session == other)


@given(st.text())
def test_no_two_tokens_have_a_part_in_common(session: str) -> None:
    first, second = csrf_token(session), _caller(session).new_csrf_token()
    assert first[:32] != second[:32]
    assert first[32:] != second[32:]
    assert _caller(session).csrf_secret.hex() not in first + second


@given(st.text())
def test_other_texts_are_refused(text: str) -> None:
    assert not _caller("session").accepts_csrf_token(text)


@given(st.integers(0, 255))
def test_changed_token_is_refused(bit: int) -> None:
    token = int(csrf_token("session"), 16) ^ (1 << bit)
    assert not _caller("session").accepts_csrf_token(f"{token:064x}")


def test_caller_without_a_session_has_no_token_and_accepts_none() -> None:
    caller = Caller(id=1, auth_method=AuthMethod.TOKEN, secret="session")
    assert caller.new_csrf_token() == ""
    assert not caller.accepts_csrf_token("")
    assert not caller.accepts_csrf_token("00" * 32)
    assert not caller.accepts_csrf_token(csrf_token("session"))
