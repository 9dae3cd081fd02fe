"""A company's own certificate authority, and the certificate that it has given to a service on this machine."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class PrivateCA:
    """The authority. `path` is its PEM file in `folder`, `key` the private key of a service, `tls` what that serves."""

    def __init__(self, folder: Path) -> None:
        self.path, self.key, served = folder / "ca.pem", folder / "key.pem", folder / "service.pem"
        own, theirs = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        identifier = x509.SubjectKeyIdentifier.from_public_key(own.public_key())
        usage = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
        )
        authority = (
            _begin("Example Corp", own.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(**usage, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False),
                critical=True,
            )
            .add_extension(identifier, critical=False)
        )
        service = (
            _begin("service", theirs.public_key())
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        )
        self.path.write_bytes(authority.sign(own, SHA256()).public_bytes(Encoding.PEM))
        served.write_bytes(service.sign(own, SHA256()).public_bytes(Encoding.PEM))
        self.key.write_bytes(theirs.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(served, self.key)


def _begin(subject: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    today = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name("Example Corp"))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
