# SPDX-License-Identifier: Apache-2.0
"""A broker that lets in only whom it knows, for tests: TLS, SASL, and rules of what a user may do.

    with SecuredBroker() as broker:
        broker.ca                            # its authority; broker.stranger is another one
        broker.addresses_of("SASL")          # of a listener: SSL, MUTUAL (asks for a certificate), SASL (over TLS), OPEN_SASL
        broker.client().allow("reader", "read", "scores")

Users: rung may do everything, guest and reader nothing until they are allowed to. Their passwords are PASSWORDS[name], with PLAIN
and SCRAM-SHA-512. The listener of `addresses` and client() is without any of that."""
import subprocess

from brokers import Broker, Brokers, free_ports

PASSWORDS = {name: f"{name}-secret-of-this-run" for name in ("rung", "guest", "reader")}
LISTENERS = {"SSL": "SSL", "MUTUAL": "SSL", "SASL": "SASL_SSL", "OPEN_SASL": "SASL_PLAINTEXT"}


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def make_authority(folder, name):
    """(certificate, key)"""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2, "-subj", f"/CN={name}",
            "-keyout", key, "-out", cert)
    return cert, key


def make_certificate(folder, name, authority):
    """(certificate, key), signed by the authority, for 127.0.0.1."""
    cert, key, request, more = (folder / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
    more.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    openssl("x509", "-req", "-in", request, "-CA", authority[0], "-CAkey", authority[1], "-CAcreateserial", "-days", 2, "-extfile", more,
            "-out", cert)
    return cert, key


class _Broker(Broker):
    format_words = [word for name, password in PASSWORDS.items() for word in ("--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]")]


class SecuredBroker(Brokers):
    kind = _Broker

    def __init__(self):
        super().__init__(1)

    def _config(self, *args):
        config = super()._config(*args)
        authority = make_authority(self.folder, "authority")
        self.ca, self.stranger = authority[0], make_authority(self.folder, "stranger")[0]
        self.client_cert, self.client_key = make_certificate(self.folder, "rung-client", authority)
        cert, key = make_certificate(self.folder, "broker", authority)
        store = self.folder / "store.pem"
        store.write_text(key.read_text() + cert.read_text())
        self.ports = dict(zip(LISTENERS, free_ports(len(LISTENERS))))
        more = "".join(f",{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        users = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
        for name in ("sasl", "open_sasl"):
            config |= {
                f"listener.name.{name}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
                f"listener.name.{name}.plain.sasl.jaas.config":
                    f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};",
                f"listener.name.{name}.scram-sha-512.sasl.jaas.config":
                    "org.apache.kafka.common.security.scram.ScramLoginModule required;",
            }
        return config | {
            "listeners": config["listeners"] + more, "advertised.listeners": config["advertised.listeners"] + more,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT," + ",".join(f"{n}:{p}" for n, p in LISTENERS.items()),
            "ssl.keystore.type": "PEM", "ssl.keystore.location": store, "ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca,
            "listener.name.mutual.ssl.client.auth": "required",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:rung;User:CN=rung-client",
        }

    def addresses_of(self, listener):
        return f"127.0.0.1:{self.ports[listener]}"
