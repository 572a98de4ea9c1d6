"""Entries of the log about users, their tokens and their logins. Names of people are only in `subject` and `username`,
from where they are removed when somebody leaves."""

from typing import Any

from fieldgate.db.log import ACCESS, USERS, LogEntry, LogObject, LogUser
from fieldgate.identity import NO_LIMITS, TokenLimits


def user_entry(action: str, user: LogUser, **details: Any) -> LogEntry:
    """`action`: create, update, disable, enable, change-password, create-link, use-link, link-login,
    unlink-login."""
    return LogEntry(
        log_type=USERS,
        action=action,
        object=LogObject("user", user.uid),
        subject=user,
        details=details,
    )


def token_entry(
    action: str, user: LogUser, name: str, prefix: str, limits: TokenLimits = NO_LIMITS
) -> LogEntry:
    """`action`: create, remove. Of a token only its name, its first characters and its limits are logged."""
    details: dict[str, Any] = {}
    if limits is not NO_LIMITS:
        assets = {} if limits.assets is None else {"assets": sorted(limits.assets)}
        details = {"scopes": sorted(limits.scopes), **assets, "networks": list(limits.networks)}
    token = LogObject("token", prefix, name)
    return LogEntry(log_type=USERS, action=action, object=token, subject=user, details=details)


def sessions_entry(user: LogUser, count: int) -> LogEntry:
    """The end of browser sessions."""
    session = LogObject("session", user.uid)
    return LogEntry(
        log_type=USERS, action="remove", object=session, subject=user, details={"count": count}
    )


def login_entry(action: str, user_uid: str = "") -> LogEntry:
    """`action`: auth, auth-failed."""
    return LogEntry(log_type=ACCESS, action=action, object=LogObject("user", user_uid))
