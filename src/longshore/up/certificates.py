"""Creates and reads certificates. The only file that loads the certificate library; see own_certificates.py.

Every certificate has its key usage (server or client authentication) and a random serial number. It is valid
from an hour in the past, so that a slightly wrong clock does no harm.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CLOCK_SKEW = timedelta(hours=1)


class Pair(msgspec.Struct, frozen=True):
    """A certificate with its key."""

    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def expires(self) -> datetime:
        return self.cert.not_valid_after_utc

    @property
    def cert_pem(self) -> bytes:
        return self.cert.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @property
    def pem(self) -> bytes:
        """Key and certificate as one text."""
        return self.key_pem + self.cert_pem

    @property
    def names(self) -> list[str]:
        """The DNS names that a server's certificate is good for."""
        found = self.cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return found.get_values_for_type(x509.DNSName)


def load(file: Path) -> Pair | None:
    """Reads the pair in this file. Returns None if there is no file, raises ValueError for other content."""
    try:
        pem = file.read_bytes()
    except FileNotFoundError:
        return None
    return read(pem, str(file))


def read(pem: bytes, place: str) -> Pair:
    """Reads the pair in this text, which comes from `place`. Raises ValueError for other content."""
    try:
        cert = x509.load_pem_x509_certificate(pem)
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError):
        raise ValueError(f"{place} does not hold a certificate and its unencrypted key in PEM form") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != cert.public_key():
        raise ValueError(f"{place} holds a key that is not the certificate's")
    return Pair(cert, key)


def read_several(pem: bytes, place: str) -> list[x509.Certificate]:
    """Reads the certificates in this text, which comes from `place`. Raises ValueError for other content."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except (ValueError, TypeError):
        raise ValueError(f"{place} does not hold certificates in PEM form") from None


def signed_by(pair: Pair, ca: Pair) -> bool:
    """Whether this authority issued the certificate, and not another one with its name."""
    try:
        pair.cert.verify_directly_issued_by(ca.cert)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def authority(now: datetime, days: int) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("longshore-ca")
    builder = _builder(name, name, key, now, days)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return Pair(builder.sign(key, hashes.SHA256()), key)


def server(ca: Pair, now: datetime, days: int, dns: Iterable[str], ips: Iterable[str]) -> Pair:
    """Makes a certificate for a server with these names and addresses only."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name("longshore"), ca.cert.subject, key, now, days)
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns]
    names += [x509.IPAddress(ipaddress.ip_address(ip)) for ip in ips]
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _leaf(builder, key, ca, ExtendedKeyUsageOID.SERVER_AUTH)


def is_address(name: str) -> bool:
    """Whether it is an IP address and not a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def user(ca: Pair, now: datetime, days: int, name: str, group: str) -> Pair:
    """Makes a client certificate: the common name is the user, the organisation the group."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name(name, group), ca.cert.subject, key, now, days)
    return _leaf(builder, key, ca, ExtendedKeyUsageOID.CLIENT_AUTH)


def _leaf(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    ca: Pair,
    purpose: x509.ObjectIdentifier,
) -> Pair:
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    issuer = ca.cert.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer), critical=False
    )
    return Pair(builder.sign(ca.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common: str, organisation: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organisation:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(parts)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
