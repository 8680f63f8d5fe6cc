"""How a process becomes a plugin: the part of go-plugin's protocol that a gRPC plugin needs.

The program starts the plugin with a cookie in the environment, which shows that a program and
not a user has started it, and with the certificate of the program's end of the connection. The
plugin makes a certificate of its own, listens, and prints its address and its certificate in one
line on standard output.

https://github.com/hashicorp/go-plugin/blob/main/docs/guide-plugin-write-non-go.md
"""

from __future__ import annotations

import base64
import datetime
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# Variables in the environment.
COOKIE = "BMI_METHOD_PLUGIN"
COOKIE_VALUE = "3f0c7f5e9d4b4c0e8a6d51c2f7b89e14"  # not a secret
CERTIFICATE = "PLUGIN_CLIENT_CERT"  # PEM; without it there is no TLS
FOLDER = "PLUGIN_UNIX_SOCKET_DIR"  # for our socket; only this user can enter it
LIFELINE = "BMI_PLUGIN_SOCKET"  # number of a descriptor, at end of file when the program has ended

GO_PLUGIN_VERSION = 1  # of the line with our address
PROTOCOL_VERSION = 1  # of plugins/proto/method.proto


def check_cookie(environment: Mapping[str, str]) -> None:
    """Ends the process if a user started it."""
    if environment.get(COOKIE) != COOKIE_VALUE:
        sys.exit("This is a plugin with a BMI method, which a program starts. To try it: bmi plugins check PATH")


@dataclass(frozen=True)
class Identity:
    """The certificate of this process, and its key."""

    key: bytes  # PEM
    certificate: bytes  # PEM
    der: bytes

    @staticmethod
    def make() -> Identity:
        """Makes a self-signed certificate for the life of the process."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
        now = datetime.datetime.utcnow()
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1))
            .not_valid_after(now + datetime.timedelta(days=3650))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        return Identity(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
            certificate.public_bytes(serialization.Encoding.PEM),
            certificate.public_bytes(serialization.Encoding.DER),
        )


def listen(server: grpc.aio.Server, environment: Mapping[str, str]) -> str:
    """Makes the server listen on a socket and returns the handshake line for the program."""
    folder = environment.get(FOLDER) or tempfile.mkdtemp()
    path = os.path.join(folder, "socket")
    fields = [str(GO_PLUGIN_VERSION), str(PROTOCOL_VERSION), "unix", path, "grpc"]
    if certificate := environment.get(CERTIFICATE):
        identity = Identity.make()
        credentials = grpc.ssl_server_credentials(
            [(identity.key, identity.certificate)],
            root_certificates=certificate.encode(),
            require_client_auth=True,
        )
        server.add_secure_port("unix:" + path, credentials)
        fields.append(base64.b64encode(identity.der).decode().rstrip("="))
    else:
        server.add_insecure_port("unix:" + path)
    return "|".join(fields)


def lifeline(environment: Mapping[str, str]) -> int | None:
    """Returns the descriptor that reports the end of the program, if there is one."""
    number = environment.get(LIFELINE, "")
    return int(number) if number.isdecimal() else None
