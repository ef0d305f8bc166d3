"""Carries out the steps of `rotation.decide`, in the one replica that holds the Lease.

Secret and configurations are only written in the version that was read: if another replica was quicker, this
one reads again. A missing configuration is left to its installer.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, Unreachable, What
from longshore.machinery.time.clock import Clock
from longshore.up.webhooks import kept_certificates, rotation
from longshore.up.webhooks.kept_certificates import ForeignSecret, Kept
from longshore.up.webhooks.rotation import Step

CONFIGURATIONS: Final[tuple[What, ...]] = (
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
)
LOOK_SECONDS: Final = 10.0
"""Pause between two looks at Secret and configurations, which take three requests of one replica."""

log = logging.getLogger(__name__)


class CertificateKeeper:
    """`name` is that of the Service, the Secret and both configurations. `run` it while holding the Lease."""

    def __init__(self, client: Client, clock: Clock, *, namespace: str, name: str) -> None:
        self._client, self._clock, self._namespace, self._name = client, clock, namespace, name
        self._dns = rotation.names(name, namespace)
        self._said = ""

    async def run(self) -> None:
        """Looks and acts until cancelled."""
        while True:
            try:
                while await self.look() is not Step.REST:
                    pass
                self._said = ""
            except (StatusError, Unreachable, ForeignSecret) as error:
                self._say(f"the certificates of webhooks cannot be looked after: {error}")
            await self._clock.sleep(LOOK_SECONDS)

    async def look(self) -> Step:
        """Does the next step, and returns it."""
        secret = await _found(self._client, kinds.SECRETS, self._name, self._namespace)
        kept = None if secret is None else kept_certificates.read(secret)
        configurations = [
            (what, found)
            for what in CONFIGURATIONS
            if (found := await _found(self._client, what, self._name)) is not None
        ]
        now = self._clock.now()
        view = None
        if kept is not None:
            stale = [found for _, found in configurations if _changed(found, kept) is not None]
            view = kept.view(now, self._dns, published=not stale)
        step = rotation.decide(view)
        if step is not Step.REST:
            log.info("webhooks: %s", step.value)
        if step is Step.PUBLISH:
            assert kept is not None
            for what, found in configurations:
                if (new := _changed(found, kept)) is not None:
                    await self._client.update(what, new)
        elif step is not Step.REST:
            await self._keep(kept_certificates.stepped(step, kept, now, self._dns), secret)
        return step

    async def _keep(self, kept: Kept, secret: Obj | None) -> None:
        if secret is None:
            meta = {"name": self._name, "namespace": self._namespace}
            await self._client.create(kinds.SECRETS, kept_certificates.written(kept, {"metadata": meta}))
        else:
            await self._client.update(kinds.SECRETS, kept_certificates.written(kept, secret))

    def _say(self, text: str) -> None:
        if text != self._said:
            log.warning("%s", text)
            self._said = text


def trusted_by(configuration: Obj) -> Iterator[str]:
    """The caBundle of each webhook."""
    for webhook in configuration.get("webhooks") or ():
        yield (webhook.get("clientConfig") or {}).get("caBundle") or ""


def _changed(configuration: Obj, kept: Kept) -> Obj | None:
    """The configuration with the trusted authorities; None if it has them already."""
    bundle = base64.b64encode(kept.trusted).decode()
    if all(found == bundle for found in trusted_by(configuration)):
        return None
    webhooks = [
        {**webhook, "clientConfig": {**(webhook.get("clientConfig") or {}), "caBundle": bundle}}
        for webhook in configuration.get("webhooks") or ()
    ]
    return {**configuration, "webhooks": webhooks}


async def _found(client: Client, what: What, name: str, namespace: str = "") -> Obj | None:
    try:
        return await client.get(what, name, namespace)
    except StatusError as error:
        if error.code == 404:
            return None
        raise
