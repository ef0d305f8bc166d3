"""The dashboard's files from the package: read and packed at the first request, then kept in memory.

Pages name scripts and styles with the version of all files in their address (`/ui/assets/3f2a…/main.js`), so
a browser may keep them for ever and still gets new ones with a new longshore.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Final

from longshore.apiserver.http.dashboard import Asset

_PLACE: Final = Path(__file__).parent
_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_UNVERSIONED: Final = b"/ui/assets/"


class Bundle:
    """All files by name: `index.html`, `assets/main.js`."""

    def find(self, name: str) -> Asset | None:
        return self._assets.get(name)

    @cached_property
    def version(self) -> str:
        digest = hashlib.sha256()
        for name, body in self._files.items():
            digest.update(b"%b\0%d\0%b" % (name.encode(), len(body), body))
        return digest.hexdigest()[:16]

    @cached_property
    def _files(self) -> dict[str, bytes]:
        paths = sorted(path for path in _PLACE.rglob("*") if path.suffix in _MEDIA_TYPES)
        return {path.relative_to(_PLACE).as_posix(): path.read_bytes() for path in paths}

    @cached_property
    def _assets(self) -> dict[str, Asset]:
        here = b"/ui/assets/%b/" % self.version.encode()
        return {name: _asset(name, body.replace(_UNVERSIONED, here)) for name, body in self._files.items()}


def _asset(name: str, body: bytes) -> Asset:
    import gzip  # at the first request: a longshore at which nobody looks does not load it

    packed = gzip.compress(body, 9, mtime=0)
    etag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    return Asset(_MEDIA_TYPES[Path(name).suffix], body, packed if len(packed) < len(body) else b"", etag)
