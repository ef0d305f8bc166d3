"""longshore's own certificate authority: created at the first start and renewed before it expires.

There are three certificates: the authority's, the server's (loopback names, and those of the options) and the
admin's, whose organisation `system:masters` may do everything. Keys are EC P-256: created in a millisecond,
with short handshakes. A certificate and its key are one file, so a crash cannot leave half of a new pair. A
file in another format is an error and is never overwritten.

An ordinary start must not pay for loading the certificate library, so `renewal.json` records when each
certificate is due; without it, the certificates themselves are read.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from longshore.up.files import write_private

ADMIN = "longshore-admin"
ADMIN_GROUP = "system:masters"

CA_DAYS = 3650
LEAF_DAYS = 365
"""Days of validity, as kubeadm's. Every start renews certificates that are due."""
CA_RENEW_BEFORE = timedelta(days=LEAF_DAYS + 30)
"""Time before its end at which the authority is renewed, so that it outlives every certificate it signs."""
LEAF_RENEW_BEFORE = timedelta(days=60)

SERVER_DNS = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SERVER_IPS = ("127.0.0.1", "::1")

_CA, _SERVER, _ADMIN = _PAIRS = ("ca", "server", "admin")
_RENEWAL, _NAMES = "renewal.json", "names"


class BrokenPki(Exception):
    """A certificate in the data directory cannot be read. Remove its `pki` directory to get new ones."""


class Pki(msgspec.Struct, frozen=True):
    """The paths of the certificates. `renewed` says whether this call created any of them."""

    directory: Path
    renewed: bool

    @property
    def ca_cert(self) -> Path:
        """The authority's certificate alone, which a client needs to trust this longshore."""
        return self.directory / "ca.crt"

    @property
    def server(self) -> Path:
        """Key and certificate of the server in one file, as `SSLContext.load_cert_chain` takes it."""
        return self.directory / f"{_SERVER}.pem"

    @property
    def admin(self) -> Path:
        """Key and certificate of the admin in one file."""
        return self.directory / f"{_ADMIN}.pem"


def ensure(directory: Path, now: datetime, names: Sequence[str] = ()) -> Pki:
    """Creates missing certificates and renews due ones in `directory`. `now` is aware. `names` are the names
    and addresses of the server besides those of loopback; with others than before it gets a new certificate.
    Of several processes, one creates them."""
    directory.mkdir(mode=0o700, exist_ok=True)
    if _nothing_due(directory, now, names):
        return Pki(directory, renewed=False)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        renewed = not _nothing_due(directory, now, names)
        if renewed:
            _renew(directory, now, names)
    finally:
        os.close(descriptor)
    return Pki(directory, renewed=renewed)


def _renew(directory: Path, now: datetime, names: Sequence[str]) -> None:
    from longshore.up import certificates

    def current(name: str, renew_before: timedelta) -> certificates.Pair | None:
        pair = certificates.load(directory / f"{name}.pem")
        return None if pair is None or pair.expires - now < renew_before else pair

    def keep(name: str, pair: certificates.Pair) -> certificates.Pair:
        write_private(directory / f"{name}.pem", pair.pem)
        return pair

    try:
        ca = current(_CA, CA_RENEW_BEFORE) or keep(_CA, certificates.authority(now, CA_DAYS))
        write_private(directory / "ca.crt", ca.cert_pem)
        server, admin = current(_SERVER, LEAF_RENEW_BEFORE), current(_ADMIN, LEAF_RENEW_BEFORE)
    except ValueError as err:
        raise BrokenPki(f"{err}; remove {directory}, and new certificates are created") from err
    dns, ips = [*SERVER_DNS], [*SERVER_IPS]
    for name in names:
        (ips if certificates.is_address(name) else dns).append(name)
    if server is None or not certificates.signed_by(server, ca) or _names(directory) != [*names]:
        server = keep(_SERVER, certificates.server(ca, now, LEAF_DAYS, dns, ips))
    if admin is None or not certificates.signed_by(admin, ca):
        admin = keep(_ADMIN, certificates.user(ca, now, LEAF_DAYS, ADMIN, ADMIN_GROUP))
    due = {
        _CA: ca.expires - CA_RENEW_BEFORE,
        _SERVER: server.expires - LEAF_RENEW_BEFORE,
        _ADMIN: admin.expires - LEAF_RENEW_BEFORE,
    }
    moments = {name: moment.isoformat() for name, moment in due.items()}
    text = json.dumps({**moments, _NAMES: [*names]}, indent=1)
    write_private(directory / _RENEWAL, text.encode())


def _names(directory: Path) -> list[str]:
    """The names of the server's certificate besides those of loopback, as `renewal.json` has them."""
    try:
        found = json.loads((directory / _RENEWAL).read_bytes()).get(_NAMES, [])
    except (OSError, ValueError, AttributeError):
        return []
    return [str(name) for name in found] if isinstance(found, list) else []


def _nothing_due(directory: Path, now: datetime, names: Sequence[str]) -> bool:
    try:
        due = json.loads((directory / _RENEWAL).read_bytes())
        moments = [datetime.fromisoformat(due[name]) for name in _PAIRS]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    files = [directory / "ca.crt", *(directory / f"{name}.pem" for name in _PAIRS)]
    if _names(directory) != [*names]:
        return False
    return all(now < moment for moment in moments) and all(file.is_file() for file in files)
