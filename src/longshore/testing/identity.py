"""The certificate authority that all clusters of one process share, and the certificate of their servers.

Loading the certificate library and making keys takes 60 to 80 ms of CPU, so the server's key and certificate
are kept for the next process: one file in the user's cache directory, readable by the user only, and renewed
every year. The authority's own key is never kept, so that nothing more can be signed with it. If there is no
such directory, or it belongs to another user, each process makes its own.
"""

from __future__ import annotations

import os
import ssl
import stat
import tempfile
import threading
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

_DAYS: Final = 3650
"""Days of validity: longer than a file is used or a process runs, because these certificates are never
renewed."""
_COMMENT: Final = b"# "
_LOCK: Final = threading.Lock()


class Identity(NamedTuple):
    """A server's side of TLS, and the authority's certificate for clients."""

    tls: ssl.SSLContext
    ca: bytes
    """The authority's certificate, in PEM."""


def shared() -> Identity:
    """The identity of this process."""
    with _LOCK:
        return _found()


@lru_cache(maxsize=1)
def _found() -> Identity:
    now = datetime.now(UTC)
    try:
        kept = _private_directory() / f"testing-{now.year}.pem"
        if not kept.exists():
            _keep(kept, _made(now))
        return _read(kept)
    except ssl.SSLError:  # the machine crashed while the file was written
        kept.unlink(missing_ok=True)
    except (OSError, RuntimeError):  # no home, a full disk, or another user's directory
        pass
    with tempfile.TemporaryDirectory(prefix="longshore-") as folder:
        file = Path(folder) / "identity.pem"
        _keep(file, _made(now))
        return _read(file)


def _private_directory() -> Path:
    """`longshore` in the user's cache directory. Raises OSError if other users may read it."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    directory = (Path(caches) if os.path.isabs(caches) else Path.home() / ".cache") / "longshore"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = directory.stat()
    if stat.S_IMODE(info.st_mode) & 0o077 or info.st_uid != os.geteuid():
        raise PermissionError(f"{directory} is not this user's alone")
    return directory


def _keep(file: Path, content: bytes) -> None:
    """Writes a file of mode 0600 in one step. If another process was quicker, its file stays."""
    handle, beside = tempfile.mkstemp(prefix=".identity-", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        with suppress(FileExistsError):
            os.link(beside, file)
    finally:
        os.unlink(beside)


def _made(now: datetime) -> bytes:
    """Makes the server's key and certificate. The authority's certificate follows as a comment, so that
    servers do not send it."""
    from longshore.up import certificates, own_certificates

    ca = certificates.authority(now, _DAYS)
    server = certificates.server(ca, now, _DAYS, own_certificates.SERVER_DNS, own_certificates.SERVER_IPS)
    return server.pem + b"".join(_COMMENT + line for line in ca.cert_pem.splitlines(keepends=True))


def _read(file: Path) -> Identity:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.load_cert_chain(file)
    tls.set_alpn_protocols(["http/1.1"])
    lines = file.read_bytes().splitlines(keepends=True)
    return Identity(tls, b"".join(line.removeprefix(_COMMENT) for line in lines if line.startswith(_COMMENT)))
