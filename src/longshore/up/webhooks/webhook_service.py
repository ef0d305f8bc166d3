"""Serves webhooks from this replica, and rotates their certificates while it holds the Lease for that.

All replicas serve; one rotates. A replica that loses the Lease goes on serving and waits for its turn again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import ssl
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.metrics import Registry
from longshore.apiserver.http.listener import Listener
from longshore.apiserver.http.timeouts import Timeouts
from longshore.client import Client, Unreachable
from longshore.machinery.background import cancelled
from longshore.machinery.election import Election, LeadershipLost
from longshore.machinery.fence import Fence
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time.clock import Clock
from longshore.up.certificates import Pair
from longshore.up.outside.health import Check, Health
from longshore.up.webhooks import CannotServe, certificate_keeper
from longshore.up.webhooks.certificate_keeper import CertificateKeeper, ForeignSecret
from longshore.up.webhooks.webhook_front import Following, WebhookFront

log = logging.getLogger(__name__)


class WebhookService:
    """`name` is that of Service, Secret, Lease and configurations. `client` is for reading and for the Lease;
    `keeping`, which writes certificates, must ask `fence`."""

    def __init__(
        self,
        client: Client,
        keeping: Client,
        address: tuple[str, int],
        *,
        name: str,
        namespace: str,
        identity: str,
        fence: Fence,
        clock: Clock,
        rng: random.Random,
        registry: Registry,
    ) -> None:
        self._client, self._address, self._name = client, address, name
        self._namespace, self._identity = namespace, identity
        self._fence, self._clock, self._rng, self._registry = fence, clock, rng, registry
        self._informers = Informers(client, clock=clock, rng=rng)
        self._following = Following(client, self._informers)
        self.certificate = ServedCertificate(client, clock, namespace=namespace, name=name)
        self._keeper = CertificateKeeper(keeping, clock, namespace=namespace, name=name)
        self.port: int | None = None
        """The port on which it listens; None before it does."""
        ends = "When the certificate of webhooks that this process shows ends, in seconds since 1970."
        gauge = registry.gauge("longshore_webhook_certificate_expiration_timestamp_seconds", ends)
        gauge.ask(lambda: 0.0 if self.certificate.ends is None else self.certificate.ends.timestamp())

    def ready(self) -> Iterator[Check]:
        """Checks for `/readyz`: whether reviews are answered, with a valid certificate."""
        ends = self.certificate.ends
        if ends is None:
            yield Check(False, "webhooks: no certificate yet")
        else:
            yield Check(self.port is not None, f"webhooks: certificate until {ends:%Y-%m-%d}")
            yield Check(ends > self._clock.now(), "webhooks: certificate counts")
        yield from Health(self._informers, None).ready()

    async def run(self) -> None:
        """Serves until cancelled. Raises `CannotServe` if the port is taken."""
        front = WebhookFront(self._following, self._clock, self._registry)
        listener = Listener(lambda: front, tls=self.certificate.tls, timeouts=Timeouts())
        tasks = [
            asyncio.create_task(self._informers.run()),
            asyncio.create_task(self.certificate.run()),
            asyncio.create_task(self.keep_certificates()),
            asyncio.create_task(self._listen(listener)),
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            await cancelled(tasks)
            await listener.close()

    async def _listen(self, listener: Listener) -> None:
        """Listens once the caches are filled and there is a certificate."""
        await self._informers.synced()
        await self.certificate.known.wait()
        try:
            self.port = await listener.start(*self._address)
        except OSError as err:
            raise CannotServe(f"--webhooks: {err.strerror or err}") from None

    async def keep_certificates(self) -> None:
        """Rotates whenever this replica holds the Lease, until cancelled."""
        while True:
            election = Election(
                self._client,
                namespace=self._namespace,
                name=self._name,
                identity=self._identity,
                clock=self._clock,
                rng=self._rng,
                registry=self._registry,
                fence=self._fence,
            )
            try:
                await election.lead(self._keeper.run)
            except LeadershipLost as lost:
                log.info("webhooks: %s", lost)


# The certificate that this replica shows: read from the Secret, and again whenever it changes there.
#
# Nothing is written to a disk, which may be read-only: OpenSSL reads key and certificate from memory.

LOOK_SECONDS: Final = 10.0
"""Seconds between two reads of the Secret; much less than `rotation.OVERLAP`."""


class ServedCertificate:
    """`tls` is for a listener; each handshake uses the current certificate. `run` follows the Secret."""

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
        """Follows the Secret until cancelled. A missing or broken Secret changes nothing."""
        while True:
            try:
                await self.look()
            except (StatusError, Unreachable, ForeignSecret) as error:
                log.info("webhooks: no new certificate: %s", error)
            await self._clock.sleep(1.0 if self.shown is None else LOOK_SECONDS)

    async def look(self) -> None:
        kept = certificate_keeper.read(await self._client.get(kinds.SECRETS, self._name, self._namespace))
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
