"""The certificate that this replica shows: read from the Secret, and again whenever it changes there.

Nothing is written to a disk, which may be read-only: OpenSSL reads key and certificate from memory.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from datetime import datetime
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Client, Unreachable
from longshore.machinery.time.clock import Clock
from longshore.up.certificates import Pair
from longshore.up.webhooks import kept_certificates
from longshore.up.webhooks.kept_certificates import ForeignSecret

LOOK_SECONDS: Final = 10.0
"""From one look at the Secret to the next; much less than `rotation.OVERLAP`."""

log = logging.getLogger(__name__)


class ServedCertificate:
    """`tls` is for a listener; handshakes take the certificate of the moment. `run` follows the Secret."""

    def __init__(self, client: Client, clock: Clock, *, namespace: str, name: str) -> None:
        self._client, self._clock, self._namespace, self._name = client, clock, namespace, name
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self.known = asyncio.Event()
        """Set once there is a certificate."""
        self.shown: Pair | None = None

    @property
    def ends(self) -> datetime | None:
        return None if self.shown is None else self.shown.expires

    async def run(self) -> None:
        """Follows the Secret until cancelled. One that is gone or broken changes nothing."""
        while True:
            try:
                await self.look()
            except (StatusError, Unreachable, ForeignSecret) as error:
                log.info("webhooks: no new certificate: %s", error)
            await self._clock.sleep(1.0 if self.shown is None else LOOK_SECONDS)

    async def look(self) -> None:
        kept = kept_certificates.read(await self._client.get(kinds.SECRETS, self._name, self._namespace))
        if self.shown is not None and kept.server.cert == self.shown.cert:
            return
        _load(self.tls, kept.server.pem)
        self.shown = kept.server
        self.known.set()


def _load(tls: ssl.SSLContext, pem: bytes) -> None:
    file = os.memfd_create("webhooks")
    try:
        os.write(file, pem)
        tls.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
