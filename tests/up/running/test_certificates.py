"""The own certificate authority: what it makes, when it renews, what it refuses."""

from __future__ import annotations

import asyncio
import errno
import ssl
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.up import certificates, kubeconfig, own_certificates
from longshore.up.running import _renew

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def certificate(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def test_the_first_start_makes_a_ca_a_server_and_an_admin_certificate(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    assert made.renewed
    ca = certificate(made.ca_cert)
    for file in (made.server, made.admin):
        certificate(file).verify_directly_issued_by(ca)
    admin = certificate(made.admin).subject
    assert admin.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "longshore-admin"
    assert admin.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:masters"
    assert isinstance(certificate(made.server).public_key(), ec.EllipticCurvePublicKey)


def test_of_several_at_once_one_makes_them(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        made = [*threads.map(lambda _: own_certificates.ensure(tmp_path / "pki", NOW), range(4))]
    assert [each.renewed for each in made].count(True) == 1
    certificate(made[0].server).verify_directly_issued_by(certificate(made[0].ca_cert))


def test_the_server_certificate_names_loopback_and_the_cluster_service_and_nothing_else(
    tmp_path: Path,
) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    names = certificate(made.server).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    assert names.get_values_for_type(x509.DNSName) == [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]


def test_other_names_are_in_the_server_certificate_as_long_as_they_are_asked_for(tmp_path: Path) -> None:
    first = own_certificates.ensure(tmp_path / "pki", NOW)
    authority = first.ca_cert.read_bytes()
    made = own_certificates.ensure(tmp_path / "pki", NOW, ("build.example", "192.0.2.7"))
    assert made.renewed
    assert not own_certificates.ensure(tmp_path / "pki", NOW, ("build.example", "192.0.2.7")).renewed
    names = certificate(made.server).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)][-1] == "192.0.2.7"
    assert names.get_values_for_type(x509.DNSName)[-1] == "build.example"
    assert made.ca_cert.read_bytes() == authority  # kubeconfigs that were copied stay good
    assert own_certificates.ensure(tmp_path / "pki", NOW).renewed
    names = certificate(made.server).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "build.example" not in names.get_values_for_type(x509.DNSName)


def test_the_admin_certificate_cannot_pose_as_a_server(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    usage = certificate(made.admin).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]


def test_every_file_with_a_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    kubeconfig.write(tmp_path / "kubeconfig", server="https://127.0.0.1:1", pki=made, token="t")
    for file in [*(tmp_path / "pki").iterdir(), tmp_path / "kubeconfig"]:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700


def test_a_later_start_changes_nothing(tmp_path: Path) -> None:
    own_certificates.ensure(tmp_path / "pki", NOW)
    before = {f.name: f.read_bytes() for f in (tmp_path / "pki").iterdir()}
    assert not own_certificates.ensure(tmp_path / "pki", NOW + timedelta(days=300)).renewed
    assert {f.name: f.read_bytes() for f in (tmp_path / "pki").iterdir()} == before


def test_certificates_near_their_end_are_renewed_and_the_authority_stays(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    ca, server = made.ca_cert.read_bytes(), made.server.read_bytes()
    later = NOW + timedelta(days=310)
    assert own_certificates.ensure(tmp_path / "pki", later).renewed
    assert made.ca_cert.read_bytes() == ca
    assert made.server.read_bytes() != server
    assert certificate(made.server).not_valid_after_utc > later + timedelta(days=300)


def test_a_renewal_that_fails_is_tried_again_the_next_day(tmp_path: Path) -> None:
    directory, tried, days = tmp_path / "pki", list[own_certificates.Pki](), []

    async def main(clock: VirtualClock) -> None:
        def renewed(fresh: own_certificates.Pki) -> None:
            tried.append(fresh)
            days.append((clock.now() - NOW).days)
            if len(tried) == 1:
                raise OSError(errno.ENOSPC, "No space left on device")

        renewal = asyncio.create_task(_renew(directory, (), renewed, clock))
        await clock.sleep(400 * 24 * 3600.0)
        assert not renewal.done()
        renewal.cancel()

    own_certificates.ensure(directory, NOW)
    virtual.run(main, start=NOW)
    assert len(tried) == 2
    assert days[1] == days[0] + 1


def test_an_authority_near_its_end_takes_all_certificates_with_it(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    old = made.ca_cert.read_bytes()
    own_certificates.ensure(tmp_path / "pki", NOW + timedelta(days=3300))
    assert made.ca_cert.read_bytes() != old
    for file in (made.server, made.admin):
        certificate(file).verify_directly_issued_by(certificate(made.ca_cert))


def test_a_lost_note_of_renewal_dates_costs_nothing(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    server = made.server.read_bytes()
    (tmp_path / "pki" / "renewal.json").write_text("{")
    own_certificates.ensure(tmp_path / "pki", NOW)
    assert made.server.read_bytes() == server


def test_a_crash_between_new_authority_and_new_certificates_heals_itself(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    (tmp_path / "pki" / "ca.pem").write_bytes(certificates.authority(NOW, 3650).pem)
    (tmp_path / "pki" / "renewal.json").unlink()
    own_certificates.ensure(tmp_path / "pki", NOW)
    for file in (made.server, made.admin):
        certificate(file).verify_directly_issued_by(certificate(made.ca_cert))


def test_a_foreign_file_in_the_place_of_a_key_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    own_certificates.ensure(tmp_path / "pki", NOW)
    (tmp_path / "pki" / "ca.pem").write_text("precious")
    (tmp_path / "pki" / "renewal.json").unlink()
    with pytest.raises(
        own_certificates.BrokenPki, match=r"ca\.pem does not hold a certificate.*; remove .*pki"
    ):
        own_certificates.ensure(tmp_path / "pki", NOW)
    assert (tmp_path / "pki" / "ca.pem").read_text() == "precious"


def test_the_pairs_load_into_a_tls_context(tmp_path: Path) -> None:
    made = own_certificates.ensure(tmp_path / "pki", NOW)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.server)
    context.load_verify_locations(made.ca_cert)
