"""Brokers with a listener for each other and one for clients."""

import unittest

import protocol
from servers import ServerTest

LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(3000)]


def brokers(address):
    """{id: "host:port"} as Metadata tells it to who asks there; version 1."""
    answer = protocol.call(address, 3, 1, protocol.array([]))
    found = {}
    for _ in range(answer.take("i")):
        broker, host, port = answer.take("i"), answer.text(), answer.take("i")
        answer.text()
        found[broker] = "%s:%d" % (host, port)
    return found


class TwoListeners(ServerTest):
    brokers = 3
    settings = {"listeners": "INTERNAL://127.0.0.1:0,CLIENT://127.0.0.1:%d", "inter.broker.listener.name": "INTERNAL",
                "listener.security.protocol.map": "INTERNAL:PLAINTEXT,CLIENT:PLAINTEXT"}

    def registered(self, listener):
        """Where the brokers have it, by what they registered."""
        found = {}
        for broker in self.cluster.servers:
            node = self.cluster.znode("/brokers/ids/%d" % broker)
            found[broker] = next(e.split("://")[1] for e in node["endpoints"] if e.startswith(listener + "://"))
        return found

    def test_clients_and_brokers_use_their_own(self):
        internal, client = self.registered("INTERNAL"), self.registered("CLIENT")
        self.assertEqual(client, {broker: server.address for broker, server in self.cluster.servers.items()})
        self.assertFalse(set(internal.values()) & set(client.values()))
        self.assertEqual(self.cluster.znode("/brokers/ids/1")["listener_security_protocol_map"],
                         {"INTERNAL": "PLAINTEXT", "CLIENT": "PLAINTEXT"})
        for broker in self.cluster.servers:
            self.assertEqual(brokers(client[broker]), client)
            self.assertEqual(brokers(internal[broker]), internal)

    def test_a_partition_moves(self):
        self.create("moved", [1, 2])
        self.produce("moved", LINES)
        self.execute("moved", [3, 2])
        self.wait_idle("moved")
        self.wait_isr("moved", [2, 3])
        self.assertEqual(self.consume("moved"), LINES)

    def test_a_killed_controller_is_followed_by_another(self):
        self.create("served", [1, 2, 3])
        active = self.cluster.controller()
        self.cluster.kill(active)
        self.produce("served", LINES)
        self.cluster.servers[active].start()
        self.wait_isr("served", [1, 2, 3])
        self.assertEqual(self.consume("served"), LINES)


if __name__ == "__main__":
    unittest.main()
