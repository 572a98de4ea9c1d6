"""What the links in records refer to: pages show names, not URLs."""

from urllib.parse import unquote, urlsplit


def linked_name(url: str, collection: str) -> str:
    """Return the last part of a URL below a collection: the username of a user, the uid of an asset."""
    _, _, rest = urlsplit(url).path.partition(f"/api/v2/{collection}/")
    return unquote(rest.removesuffix("/"))


def username(url: str) -> str:
    return linked_name(url, "users")


def codename(url: str) -> str:
    return linked_name(url, "permissions")


def asset_uid(url: str) -> str:
    return linked_name(url, "assets").partition("/")[0]
