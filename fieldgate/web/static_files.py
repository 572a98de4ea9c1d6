"""Styles, scripts and images of the pages, and those of Swagger UI from its package."""

import hashlib
import mimetypes
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from fieldgate import __version__
from fieldgate.errors import NotFound
from fieldgate.http.operations import Routes
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.web.charts.atlas import world_svg, world_svg_digest

CACHE_FOREVER = b"public, max-age=31536000, immutable"
SWAGGER_FILES = ("swagger-ui-bundle.js", "swagger-ui.css")
JOINED_FILES = {"fieldgate.css": "styles", "fieldgate.js": "scripts"}
routes = Routes(tag="Pages", scope=Scope.NONE)


class StaticFiles:
    """The files by name. Their URLs contain a digest of all files, so browsers can cache them without limit."""

    def __init__(self) -> None:
        own = Path(str(files("fieldgate.web") / "static"))
        swagger = _package_folder("swagger_ui") / "static"
        paths = [path for path in sorted(own.iterdir()) if path.is_file()]
        paths += [swagger / name for name in SWAGGER_FILES]
        self._contents: dict[str, Callable[[], bytes]] = {
            path.name: path.read_bytes for path in paths
        }
        self._contents |= {
            name: partial(_join_parts, own / folder) for name, folder in JOINED_FILES.items()
        }
        digest = hashlib.blake2b(__version__.encode(), digest_size=6)
        for read in self._contents.values():
            digest.update(read())
        # The map is made when it is first asked for. Its digest is known before.
        digest.update(world_svg_digest().encode())
        self._contents["world.svg"] = world_svg
        self._release = digest.hexdigest()

    def url_path(self, name: str) -> str:
        """Return the path of a file's URL."""
        if name not in self._contents:
            raise KeyError(name)
        return f"/static/{self._release}/{name}"

    def read(self, release: str, name: str) -> tuple[bytes, bytes] | None:
        """Return content type and content of a file, or None if it is not part of this release."""
        if release != self._release or name not in self._contents:
            return None
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        text = "; charset=utf-8" if kind.startswith("text/") else ""
        return f"{kind}{text}".encode(), self._contents[name]()


def _package_folder(name: str) -> Path:
    """The folder of a package, which is not imported: only its files are needed."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} is not installed.")
    return Path(spec.origin).parent


def _join_parts(folder: Path) -> bytes:
    """One file of the parts in a folder, in the order of their names: a page loads one stylesheet and one script."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.iterdir()))


@routes.raw(
    "/static/{release}/{name}",
    title=Message("File of a page"),
    description=Message("A style, script or image of a page."),
    depends_on=(),
    in_schema=False,
    rate_cost=0.1,  # in memory, and browsers keep it
)
async def static_file(release: str, name: str, static_files: StaticFiles) -> Response:
    found = static_files.read(release, name)
    if found is None:
        raise NotFound
    content_type, body = found
    return Response(200, [(b"content-type", content_type), (b"cache-control", CACHE_FOREVER)], body)
