"""Entries of the log about assets. The words for actions are KoboToolbox's."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from fieldgate.db.log import PROJECT, LogEntry, LogObject

# Names of settings and tags in an entry: people can choose any.
MAX_LOGGED_SETTINGS = 20
MAX_LOGGED_TAGS = 5  # that were added, and as many that were removed
MAX_LOGGED_CHARS = 50


def asset_entry(action: str, asset: Any, **details: Any) -> LogEntry:
    """`asset` is a row, or a new asset."""
    logged = LogObject("asset", asset.uid, asset.name, asset.owner_id)
    return LogEntry(log_type=PROJECT, action=action, object=logged, details=details)


def change_entries(asset: Row[Any], changes: Mapping[str, Any]) -> list[LogEntry]:
    """Entries about a new name, new settings and tags. Of settings, only the names are logged: values can be long."""
    entries = []
    if (name := changes.get("name", asset.name)) != asset.name:
        entries.append(asset_entry("update-name", asset, name={"old": asset.name, "new": name}))
    settings = changes.get("settings", asset.settings)
    if changed := [
        key
        for key, value in settings.items()
        if key not in asset.settings or asset.settings[key] != value
    ]:
        names = _cut(sorted(changed), MAX_LOGGED_SETTINGS)
        entries.append(asset_entry("update-settings", asset, settings=names))
    tags = changes.get("tags", asset.tags)
    added = [tag for tag in tags if tag not in asset.tags]
    removed = [tag for tag in asset.tags if tag not in tags]
    if added or removed:
        logged = {"added": _cut(added, MAX_LOGGED_TAGS), "removed": _cut(removed, MAX_LOGGED_TAGS)}
        entries.append(asset_entry("update-tags", asset, tags=logged))
    return entries


def _cut(names: Sequence[str], count: int) -> list[str]:
    return [name[:MAX_LOGGED_CHARS] for name in names[:count]]
