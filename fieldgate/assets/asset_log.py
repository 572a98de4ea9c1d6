"""Entries of the log about assets. The words for actions are KoboToolbox's."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from fieldgate.db.log import PROJECT, LogEntry, LogObject

MAX_LOGGED_SETTINGS, MAX_LOGGED_CHARS = 20, 50  # names of settings in an entry: people can choose any


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
    if changed := [key for key, value in settings.items() if key not in asset.settings or asset.settings[key] != value]:
        names = [key[:MAX_LOGGED_CHARS] for key in sorted(changed)[:MAX_LOGGED_SETTINGS]]
        entries.append(asset_entry("update-settings", asset, settings=names))
    tags = changes.get("tags", asset.tags)
    added = [tag for tag in tags if tag not in asset.tags]
    removed = [tag for tag in asset.tags if tag not in tags]
    if added or removed:
        entries.append(asset_entry("update-tags", asset, tags={"added": added, "removed": removed}))
    return entries
