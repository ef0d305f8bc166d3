"""The certificates of webhooks in a Secret: carries out the steps of `rotation.decide`, in the one replica
that holds the Lease.

The Secret is of the type that ingress controllers know, `kubernetes.io/tls`, with two more keys: `ca.crt` has
the trusted authorities, `ca.pem` the authority that signs, with its key. A Secret that longshore did not make
is an error, and is never overwritten.

Secret and configurations are only written in the version that was read: if another replica was quicker, this
one reads again. A missing configuration is left to its installer.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, Unreachable, What
from longshore.machinery.time.clock import Clock
from longshore.up import certificates
from longshore.up.certificates import Pair
from longshore.up.webhooks import rotation
from longshore.up.webhooks.rotation import RotationView, Step

_SIGNING, _TRUSTED, _CERTIFICATE, _KEY = "ca.pem", "ca.crt", "tls.crt", "tls.key"
_TYPE: Final = "kubernetes.io/tls"


class ForeignSecret(ValueError):
    """The Secret was not made by longshore. Delete it, and a new one is made."""


class KeptCertificates(msgspec.Struct, frozen=True):
    """The content of the Secret."""

    authority: Pair
    """The authority that signs from now on."""
    trusted: bytes
    """Certificates of authorities, the one that signs first, as PEM."""
    server: Pair
    noted: datetime | None = None
    """When the last step of a change of authority was done."""

    def view(self, now: datetime, dns: Sequence[str], published: bool) -> RotationView:
        return RotationView(
            now,
            self.authority.expires,
            self.server.expires,
            vouched=certificates.signed_by(self.server, self.authority),
            named=self.server.names == [*dns],
            old_trusted=self.trusted != self.authority.cert_pem,
            published=published,
            noted=self.noted,
        )


def read(secret: Obj) -> KeptCertificates:
    """Reads the Secret. Raises `ForeignSecret`."""
    meta, data = secret["metadata"], secret.get("data") or {}
    place = f"Secret {meta.get('namespace', '')}/{meta['name']}"

    def part(name: str) -> bytes:
        return base64.b64decode(data.get(name) or "")

    noted = (meta.get("annotations") or {}).get(own_names.CERTIFICATE_STEP)
    try:
        certificates.read_several(part(_TRUSTED), f"{_TRUSTED} of {place}")
        return KeptCertificates(
            certificates.read(part(_SIGNING), f"{_SIGNING} of {place}"),
            part(_TRUSTED),
            certificates.read(part(_KEY) + part(_CERTIFICATE), f"{_CERTIFICATE} of {place}"),
            None if noted is None else datetime.fromisoformat(noted),
        )
    except ValueError as error:
        raise ForeignSecret(f"{error}: {ForeignSecret.__doc__}") from None


def written(kept: KeptCertificates, secret: Obj) -> Obj:
    """The Secret with this content."""
    meta = {**secret["metadata"]}
    notes = {k: v for k, v in (meta.get("annotations") or {}).items() if k != own_names.CERTIFICATE_STEP}
    if kept.noted is not None:
        notes[own_names.CERTIFICATE_STEP] = rfc3339.from_moment(kept.noted)
    meta["annotations"] = notes
    parts = {
        _SIGNING: kept.authority.pem,
        _TRUSTED: kept.trusted,
        _CERTIFICATE: kept.server.cert_pem,
        _KEY: kept.server.key_pem,
    }
    data = {name: base64.b64encode(value).decode() for name, value in parts.items()}
    return {**secret, "metadata": meta, "type": _TYPE, "data": data}


def stepped(step: Step, kept: KeptCertificates | None, now: datetime, dns: Sequence[str]) -> KeptCertificates:
    """The content after a step that changes it."""
    if kept is None:
        authority = certificates.authority(now, rotation.AUTHORITY_DAYS)
        return KeptCertificates(authority, authority.cert_pem, _server(authority, now, dns))
    match step:
        case Step.NEW_AUTHORITY:
            authority = certificates.authority(now, rotation.AUTHORITY_DAYS)
            return KeptCertificates(authority, authority.cert_pem + kept.trusted, kept.server)
        case Step.NEW_SERVER:
            return KeptCertificates(kept.authority, kept.trusted, _server(kept.authority, now, dns), now)
        case Step.FORGET_OLD:
            return KeptCertificates(kept.authority, kept.authority.cert_pem, kept.server)
        case _:
            return KeptCertificates(kept.authority, kept.trusted, kept.server, now)


def _server(authority: Pair, now: datetime, dns: Sequence[str]) -> Pair:
    return certificates.server(authority, now, rotation.SERVER_DAYS, dns, ())


CONFIGURATIONS: Final[tuple[What, ...]] = (
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
)
LOOK_SECONDS: Final = 10.0
"""Seconds between two checks of Secret and configurations; a check takes three requests."""

log = logging.getLogger(__name__)


class CertificateKeeper:
    """`name` is that of the Service, the Secret and both configurations. `run` it while holding the Lease."""

    def __init__(self, client: Client, clock: Clock, *, namespace: str, name: str) -> None:
        self._client, self._clock, self._namespace, self._name = client, clock, namespace, name
        self._dns = rotation.names(name, namespace)
        self._said = ""

    async def run(self) -> None:
        """Does due steps until cancelled."""
        while True:
            try:
                while await self.look() is not Step.REST:
                    pass
                self._said = ""
            except (StatusError, Unreachable, ForeignSecret) as error:
                self._say(f"cannot check or renew the certificates of webhooks: {error}")
            await self._clock.sleep(LOOK_SECONDS)

    async def look(self) -> Step:
        """Does the next step, and returns it."""
        secret = await _found(self._client, kinds.SECRETS, self._name, self._namespace)
        kept = None if secret is None else read(secret)
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
            await self._keep(stepped(step, kept, now, self._dns), secret)
        return step

    async def _keep(self, kept: KeptCertificates, secret: Obj | None) -> None:
        if secret is None:
            meta = {"name": self._name, "namespace": self._namespace}
            await self._client.create(kinds.SECRETS, written(kept, {"metadata": meta}))
        else:
            await self._client.update(kinds.SECRETS, written(kept, secret))

    def _say(self, text: str) -> None:
        if text != self._said:
            log.warning("%s", text)
            self._said = text


def trusted_by(configuration: Obj) -> Iterator[str]:
    """The caBundle of each webhook."""
    for webhook in configuration.get("webhooks") or ():
        yield (webhook.get("clientConfig") or {}).get("caBundle") or ""


def _changed(configuration: Obj, kept: KeptCertificates) -> Obj | None:
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
