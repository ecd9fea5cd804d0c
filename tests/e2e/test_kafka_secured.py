#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=broker,no-asan
"""A broker that lets in only whom it knows: servers log in over TLS and with SASL, for the log, for topics that they ingest and for
the change feed. A wrong password, authority or permission is one clear line, for the log also the end, soon; and no secret is ever
shown."""
import json
import os
import pathlib
import shutil
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from client import library  # noqa: E402
from secured import PASSWORDS, SecuredBroker  # noqa: E402
from server import ServerTest, rung, until  # noqa: E402

SOON = 20  # seconds: less than a server waits for a broker that does not answer at all


def setUpModule():
    if not shutil.which("openssl"):
        raise unittest.SkipTest("needs the openssl command to make certificates")
    SecuredTest.broker = SecuredBroker().start()
    unittest.addModuleCleanup(SecuredTest.broker.close)


class SecuredTest(ServerTest):
    topics = 0

    def setUp(self):
        SecuredTest.topics += 1
        self.topic = f"rung-{SecuredTest.topics}"

    def node(self, listener, *flags, password=None, **more):
        """`password`: of a user, or any text. The file with it is left behind by nobody."""
        server = self.serve("--log", f"kafka://{self.broker.addresses_of(listener)}/{self.topic}", "--log-kafka-replication", "1",
                            *flags, start=False, **more)
        if password:
            path = server.own_folder / "password"
            path.write_text(password + "\n")
            path.chmod(0o600)
            server.flags += ["--log-kafka-password-file", str(path)]
        return server

    def tls(self, ca=None):
        return "--log-kafka-tls", "on", "--log-kafka-tls-ca", ca or self.broker.ca

    def sasl(self, user="rung", mechanism="plain"):
        return "--log-kafka-sasl", mechanism, "--log-kafka-user", user

    def works(self, server):
        server.start()
        self.check(server.put("/v1/boards/race", {}), 201)
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 7}), 200)
        self.check(server.get("/v1/boards/race/players/ada?latest=true"), 200)
        self.assertEqual(server.stop(), 0)
        self.check_secrets(server)

    def fails(self, server, *words):
        """One line says it, and the server ends without waiting for brokers that are there."""
        start = time.monotonic()
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        self.assertLess(time.monotonic() - start, SOON, server.log)
        lines = [line for line in server.said if all(word in line for word in words)]
        self.assertEqual(len(lines), 1, server.log)
        self.check_secrets(server)
        return lines[0]

    def check_secrets(self, server):
        shown = rung("config", "show", "--data", server.data, *server.flags, env=server.env)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for secret in [*PASSWORDS.values(), "wrong-secret"]:
            self.assertNotIn(secret, server.log)
            self.assertNotIn(secret, shown.stdout + shown.stderr)


class Tls(SecuredTest):
    def test_a_trusted_broker(self):
        self.works(self.node("SSL", *self.tls()))

    def test_a_certificate_of_our_own(self):
        mine = "--log-kafka-tls-cert", self.broker.client_cert, "--log-kafka-tls-key", self.broker.client_key
        self.works(self.node("MUTUAL", *self.tls(), *mine))
        self.fails(self.node("MUTUAL", *self.tls()), "no Kafka broker of", "bad certificate")

    def test_a_broker_of_another_authority(self):
        self.fails(self.node("SSL", *self.tls(self.broker.stranger)), "certificate verify failed", "log.kafka.tls_ca")

    def test_an_authority_that_is_not_there(self):
        self.fails(self.node("SSL", *self.tls(self.broker.folder / "nowhere.pem")), "log.kafka.tls_ca", "nowhere.pem")

    def test_a_listener_without_tls(self):
        server = self.serve("--log", f"kafka://{self.broker.addresses}/{self.topic}", *self.tls(), start=False)
        self.fails(server, "no Kafka broker of", "log.kafka.tls")


class Sasl(SecuredTest):
    def test_passwords(self):
        for listener, tls in (("SASL", self.tls()), ("OPEN_SASL", ())):
            with self.subTest(listener=listener):
                self.topic += "x"
                self.works(self.node(listener, *tls, *self.sasl(), password=PASSWORDS["rung"]))

    def test_scram(self):
        """librdkafka before 2.6.1 sends a nonce that Kafka 4 refuses (its issue 4895): a line says so."""
        server = self.node("SASL", *self.tls(), *self.sasl(mechanism="scram-sha-512"), password=PASSWORDS["rung"])
        if library().rd_kafka_version() >= 0x02060100:
            self.works(server)
        else:
            self.fails(server, "librdkafka", "cannot log in to Kafka 4 with SCRAM", "2.6.1")

    def test_a_wrong_password(self):
        for mechanism in ("plain", "scram-sha-512"):
            with self.subTest(mechanism=mechanism):
                self.fails(self.node("SASL", *self.tls(), *self.sasl(mechanism=mechanism), password="wrong-secret"),
                           "uthentication", "log.kafka.password_file")

    def test_a_mechanism_that_the_broker_does_not_offer(self):
        self.fails(self.node("SASL", *self.tls(), *self.sasl(mechanism="scram-sha-256"), password=PASSWORDS["rung"]),
                   "SCRAM-SHA-256", "log.kafka.user")

    def test_a_password_file_that_is_not_there(self):
        server = self.node("SASL", *self.tls(), *self.sasl(), "--log-kafka-password-file", "/nowhere/password")
        self.fails(server, "log.kafka.password_file", "/nowhere/password")


class Permissions(SecuredTest):
    def guest(self, name="guest"):
        return self.node("SASL", *self.tls(), *self.sasl(name), password=PASSWORDS[name])

    def test_a_user_who_may_do_nothing(self):
        self.fails(self.guest(), self.topic, "hidden from this user", "uthorization failed")

    def test_a_user_who_may_read_only(self):
        """It serves what the others write, and says of each write that it was not accepted."""
        self.broker.client().create_topic(self.topic, configs={"retention.ms": "-1"})
        for operation in ("read", "describe", "describe_configs"):
            self.broker.client().allow("reader", operation, self.topic)
        writer = self.node("SSL", *self.tls()).start()
        self.check(writer.put("/v1/boards/race", {}), 201)
        reader = self.guest("reader").start()
        seq = self.check(writer.post("/v1/boards/race/scores", {"player": "ada", "score": 7}), 200).json["seq"]
        self.check(reader.get(f"/v1/boards/race/players/ada?min_seq={seq}"), 200)
        answer = self.check(reader.post("/v1/boards/race/scores", {"player": "bob", "score": 1}), 503)
        self.assertIn(answer.code, ("log_unavailable", "outcome_unknown"))
        self.check(reader.get("/v1/boards/race/players/ada"), 200)
        self.check_secrets(reader)


class Ingest(SecuredTest):
    """Topics of another cluster than the log's have settings of their own; without `brokers`, the log's hold."""

    def setUp(self):
        super().setUp()
        self.plays = f"plays-{self.topic}"
        self.broker.client().create_topic(self.plays)

    def configure(self, server, **settings):
        """The section [ingest.plays] of a server that was not started."""
        settings = {"topic": self.plays, "board": "sum", "player": "$.player", "delta": "$.points"} | settings
        path = server.own_folder / "rung.conf"
        path.write_text("[ingest.plays]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        server.flags += ["--config", str(path)]
        return server

    def logged_in(self, server, listener="SASL", password=PASSWORDS["rung"]):
        path = server.own_folder / "ingest-password"
        path.write_text(password + "\n")
        path.chmod(0o600)
        tls = {"tls": "on", "tls_ca": self.broker.ca} if listener == "SASL" else {}
        return tls | {"brokers": self.broker.addresses_of(listener), "sasl": "plain", "user": "rung", "password_file": path}

    def ingests(self, server):
        """Scores come in, and a record that is none becomes a dead letter."""
        server.start()
        self.check(server.put("/v1/boards/sum", {"update": "sum"}), 201)
        client = self.broker.client()
        for value in (b'{"player": "ada", "points": 3}', b"neither", b'{"player": "ada", "points": 4}'):
            client.produce(self.plays, value)
        until(lambda: [e["score"] for e in server.get("/v1/boards/sum/top").json["entries"]] == [7], "both scores")
        dead = until(lambda: client.records(self.plays + ".dead"), "the dead letter")
        self.assertEqual([d.value for d in dead], [b"neither"])
        self.assertEqual(server.stop(), 0)
        self.check_secrets(server)

    def test_a_log_of_its_own_and_a_cluster_that_asks_for_a_password(self):
        for listener in ("SASL", "OPEN_SASL"):
            with self.subTest(listener=listener):
                self.setUp()
                server = self.serve(start=False)
                self.ingests(self.configure(server, **self.logged_in(server, listener)))

    def test_settings_that_differ_from_those_of_the_log(self):
        """The log's broker asks for a certificate, the other for a password."""
        mine = "--log-kafka-tls-cert", self.broker.client_cert, "--log-kafka-tls-key", self.broker.client_key
        server = self.node("MUTUAL", *self.tls(), *mine)
        self.ingests(self.configure(server, **self.logged_in(server)))

    def test_a_certificate(self):
        server = self.serve(start=False)
        self.ingests(self.configure(server, brokers=self.broker.addresses_of("MUTUAL"), tls="on", tls_ca=self.broker.ca,
                                    tls_cert=self.broker.client_cert, tls_key=self.broker.client_key))

    def test_the_settings_of_the_log(self):
        self.ingests(self.configure(self.node("SASL", *self.tls(), *self.sasl(), password=PASSWORDS["rung"])))

    def test_a_wrong_password(self):
        """The server serves, and says what is wrong."""
        server = self.serve(start=False)
        self.configure(server, **self.logged_in(server, password="wrong-secret")).start()
        until(lambda: any("ingest plays" in line and "uthentication" in line for line in server.said), "a line about the password")
        self.check(server.put("/v1/boards/sum", {"update": "sum"}), 201)
        self.assertEqual(server.stop(), 0)
        self.check_secrets(server)

    def test_a_broker_of_another_authority(self):
        server = self.serve(start=False)
        self.configure(server, brokers=self.broker.addresses_of("SSL"), tls="on", tls_ca=self.broker.stranger).start()
        until(lambda: any("ingest plays" in line and "certificate verify failed" in line for line in server.said), "a line about the authority")
        self.assertEqual(server.stop(), 0)


class Feed(SecuredTest):
    """It logs in as log.kafka.* says, wherever its brokers are."""

    def publishes(self, server, topic):
        """The feed begins after what is there when its brokers first answer: with a gap."""
        client = self.broker.client()
        server.start()
        self.check(server.put("/v1/boards/race", {}), 201)
        until(lambda: client.records(topic), "the beginning of the feed")
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 7}), 200)

        def changes():
            found = [json.loads(r.value) for r in client.records(topic)]
            return [(c["type"], c["score"]) for c in found if c.get("player") == "ada"]
        self.assertEqual(until(changes, "the change"), [("score", 7)])
        self.assertEqual(server.stop(), 0)
        self.check_secrets(server)

    def feed(self):
        topic = f"changes-{self.topic}"
        self.broker.client().create_topic(topic)
        return topic

    def test_beside_a_log_on_the_same_brokers(self):
        topic = self.feed()
        self.publishes(self.node("SASL", *self.tls(), *self.sasl(), "--feed-topic", topic, password=PASSWORDS["rung"]), topic)

    def test_a_local_log(self):
        topic = self.feed()
        server = self.serve("--feed-topic", topic, "--feed-brokers", self.broker.addresses_of("MUTUAL"), *self.tls(),
                            "--log-kafka-tls-cert", self.broker.client_cert, "--log-kafka-tls-key", self.broker.client_key, start=False)
        self.publishes(server, topic)

    def test_a_wrong_password(self):
        """The server serves, and says what is wrong."""
        server = self.serve("--feed-topic", self.feed(), "--feed-brokers", self.broker.addresses_of("SASL"), *self.tls(), *self.sasl(),
                            start=False)
        path = server.own_folder / "password"
        path.write_text("wrong-secret\n")
        server.flags += ["--log-kafka-password-file", str(path)]
        server.start()
        until(lambda: any("feed" in line and "uthentication" in line for line in server.said), "a line about the password")
        self.check(server.put("/v1/boards/race", {}), 201)
        self.check_secrets(server)


if __name__ == "__main__":
    unittest.main()
