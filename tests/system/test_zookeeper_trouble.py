"""A ZooKeeper that is away, forgets or belongs to others, and znodes that make no sense: nothing is lost, the log says
what is wrong, and what can go on goes on."""

import json
import os
import unittest

import protocol
import zookeeper
from servers import SESSION_MS, ServerCluster, ServerTest
from support import wait_until

LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(2000)]


class TroubleTest(ServerTest):
    brokers = 4

    @classmethod
    def setUpClass(cls):
        zookeeper.require()

    @classmethod
    def tearDownClass(cls):
        pass  # each test has a cluster of its own: what it does to ZooKeeper stays

    def setUp(self):
        type(self).cluster = ServerCluster(self.brokers, **self.settings)
        self.addCleanup(self.cluster.stop)

    def gone(self, broker):
        wait_until("broker %d gone" % broker, lambda: self.cluster.znode("/brokers/ids/%d" % broker) is None)

    def reopen(self):
        """The test's own session, after ZooKeeper forgot it."""
        self.cluster.sessions.send("close", "reader")
        self.cluster.sessions.open("reader", self.cluster.connect, timeout_ms=SESSION_MS)

    def files(self):
        """(broker, folder) of everything in the log directories that belongs to a topic."""
        return sorted((broker, name) for broker, server in self.cluster.servers.items() for path in server.log_dirs
                      for name in os.listdir(path) if name.startswith("kept"))

    def empty(self):
        """ZooKeeper comes back without its data, which the caller gets the path of."""
        data = self.cluster.zookeeper.directory / "data"
        self.cluster.zookeeper.kill()
        data.rename(data.with_name("data-away"))
        self.cluster.zookeeper.start()

    def restore(self):
        data = self.cluster.zookeeper.directory / "data"
        self.cluster.zookeeper.kill()
        self.cluster.zookeeper.clear()
        data.with_name("data-away").rename(data)
        self.cluster.zookeeper.start()

    def forget_brokers(self):
        """They were killed, and their sessions are in what was restored."""
        self.reopen()
        for broker in self.cluster.servers:
            self.cluster.end_sessions(broker)


class ShortSessions(TroubleTest):
    settings = {"zookeeper.session.timeout.ms": 3000}

    def test_emptied_under_running_brokers_and_restored(self):
        """It does not take their sessions, for they have seen more than it knows; they serve what they have."""
        self.create("kept", [1, 2, 3], [2, 3, 4])
        for partition in (0, 1):
            self.produce("kept", LINES, "-p", str(partition))
        before = self.files()
        self.empty()
        for server in self.cluster.servers.values():
            server.wait_log("WARN  ZooKeeper .* no server has taken the session for")
        self.produce("kept", LINES, "-p", "0", "-X", "enable.idempotence=false")
        self.assertEqual(self.consume("kept", "-p", "0"), LINES + LINES)
        self.assertEqual(self.consume("kept", "-p", "1"), LINES)
        self.assertEqual(self.files(), before)
        self.restore()
        wait_until("moves to be accepted", lambda: self.execute("kept", [4, 1, 2], check=False).returncode == 0)
        self.wait_idle("kept")
        self.wait_isr("kept", [1, 2, 4], [2, 3, 4])
        self.assertEqual(self.consume("kept", "-p", "0"), LINES + LINES)
        self.assertEqual(self.consume("kept", "-p", "1"), LINES)


class Trouble(TroubleTest):
    settings = {"replica.lag.time.max.ms": 10000}  # a broker that refuses a topic is not waited for longer

    def test_every_session_ends_while_something_moves(self):
        """As when ZooKeeper was away for an hour: all registrations are gone, also that of the controller."""
        self.create("kept", [1, 2, 3])
        self.produce("kept", LINES)
        self.hold(4)
        self.execute("kept", [4, 2, 3])
        moving = self.cluster.znode("/brokers/topics/kept")
        epochs = {broker: self.cluster.ask("get", "/brokers/ids/%d" % broker) for broker in (1, 2, 3)}
        self.cluster.zookeeper.kill()
        for broker in (1, 2, 3):
            self.cluster.servers[broker].pause()
        self.cluster.zookeeper.start()
        for broker in self.cluster.servers:
            self.cluster.end_sessions(broker)
            self.gone(broker)
        self.assertIsNone(self.cluster.controller())
        self.assertEqual(self.cluster.znode("/brokers/topics/kept"), moving)
        for server in self.cluster.servers.values():
            server.resume()
            server.wait_log("WARN  the metastore session has expired")
        self.cluster.wait_all_ready()
        self.wait_idle("kept")
        self.wait_isr("kept", [4, 2, 3])
        self.assertEqual(self.consume("kept"), LINES)
        self.assertEqual(len(epochs), 3)

    def test_service_goes_on_while_zookeeper_is_away_and_the_move_ends_when_it_is_back(self):
        self.create("kept", [1, 2, 3])
        self.produce("kept", LINES)
        self.hold(4)
        self.execute("kept", [4, 2, 3])
        self.cluster.zookeeper.kill()
        self.cluster.servers[4].resume()
        for server in self.cluster.servers.values():
            server.wait_log("WARN  ZooKeeper %s: connection lost" % self.cluster.connect)
        self.produce("kept", LINES, "-X", "enable.idempotence=false")
        self.assertEqual(self.consume("kept"), LINES + LINES)
        self.cluster.zookeeper.start()
        self.wait_idle("kept")
        self.wait_isr("kept", [4, 2, 3])
        self.assertEqual(self.consume("kept"), LINES + LINES)

    def test_emptied_and_begun_anew_keeps_what_was_there(self):
        self.create("kept", [1, 2, 3])
        self.produce("kept", LINES)
        cluster_id = self.cluster.znode("/cluster/id")["id"]
        for server in self.cluster.servers.values():
            server.kill()
        self.empty()
        self.reopen()
        self.cluster.wait_all_ready()
        for server in self.cluster.servers.values():
            server.wait_log("WARN  the metastore has lost what it knew of cluster %s" % cluster_id)
        before = self.files()
        self.assertEqual({broker for broker, _ in before}, {1, 2, 3})
        self.create("kept", [4, 1])  # another topic of that name
        self.produce("kept", LINES[:10])
        self.assertEqual(self.consume("kept"), LINES[:10])
        self.cluster.admin("topics", "delete", "kept")
        wait_until("the new log gone", lambda: self.files() == before)
        for server in self.cluster.servers.values():
            server.kill()
        self.restore()
        self.forget_brokers()
        self.cluster.wait_all_ready()
        self.wait_isr("kept", [1, 2, 3])
        self.assertEqual(self.consume("kept"), LINES)

    def test_another_cluster_is_not_joined(self):
        self.create("kept", [1, 2, 3])
        self.produce("kept", LINES)
        cluster_id = self.cluster.znode("/cluster/id")["id"]
        before = self.files()
        for server in self.cluster.servers.values():
            server.kill()
        self.empty()
        self.reopen()
        sessions = self.cluster.sessions
        self.assertEqual(sessions.ask("create", "reader", "dir", "/cluster", "x"), "ok 0")
        other = json.dumps({"version": "1", "id": "QUFBQUFBQUFBQUFBQUFBQQ"}, separators=(",", ":"))
        self.assertEqual(sessions.ask("create", "reader", "id", "/cluster/id", other), "ok 0")
        for broker, server in self.cluster.servers.items():
            server.start()
            self.assertEqual(server.wait_end(), 1)
            self.assertRegex(server.log(), "ERROR broker %d cannot go on: the log directories belong to cluster %s, the "
                             "metastore to QUFBQUFBQUFBQUFBQUFBQQ" % (broker, cluster_id))
        self.assertIsNone(self.cluster.znode("/brokers/ids/1"))
        self.assertEqual(self.files(), before)
        self.restore()
        self.forget_brokers()
        self.cluster.wait_all_ready()
        self.wait_isr("kept", [1, 2, 3])
        self.assertEqual(self.consume("kept"), LINES)

    def test_deleted_under_running_brokers(self):
        """As `deleteall` begins with the whole path: their sessions live, and each says once what is gone."""
        self.create("kept", [1, 2, 3])
        self.produce("kept", LINES)
        before = self.files()

        def delete(path):
            for name in self.cluster.children(path):
                delete(path.rstrip("/") + "/" + name)
            if path != "/":
                self.cluster.sessions.ask("delete", "reader", "delete" + path, path, -1)
        delete("/brokers/ids")
        for broker, server in self.cluster.servers.items():
            server.wait_log("WARN  the registration of broker %d was deleted by somebody: " % broker)
            server.wait_log("WARN  controller: gives up the controller role: /brokers/ids is gone from the metastore")
        self.assertEqual(self.files(), before)
        for server in self.cluster.servers.values():
            self.assertEqual(server.log().count("gives up the controller role"), 1)

    def test_a_deleted_registration_is_told_and_a_restart_mends_it(self):
        self.create("kept", [1, 2, 3])
        self.produce("kept", LINES)
        self.assertEqual(self.cluster.sessions.ask("delete", "reader", "delete", "/brokers/ids/2", -1), "ok 0")
        self.cluster.servers[2].wait_log("WARN  the registration of broker 2 was deleted by somebody: ")
        wait_until("the others to go on without it", lambda: 2 not in self.state("kept")["isr"])
        self.cluster.servers[2].stop()
        self.cluster.servers[2].start()
        self.cluster.servers[2].wait_ready()
        self.wait_isr("kept", [1, 2, 3])
        self.assertEqual(self.consume("kept"), LINES)

    def test_znodes_that_make_no_sense_hurt_nothing_else(self):
        self.create("kept", [1, 2, 3], [2, 3, 1])
        self.produce("kept", LINES, "-p", "0")
        sessions = self.cluster.sessions
        huge = '{"version":3,"partitions":{"0":[1]},"filler":"%s"}' % ("x" * 1000000)
        newer = '{"version":99,"partitions":{"0":[1]},"tiers":{"0":"cold"}}'
        for number, (path, value) in enumerate((
                ("/brokers/topics/kept-nonsense", "not-json"),
                ("/brokers/topics/kept-huge", huge),
                ("/brokers/topics/kept-deep", "[" * 5000),
                ("/brokers/topics/kept-newer", newer),
                ("/brokers/ids/77", "not-json"),
                ("/brokers/ids/78", '{"version":9,"host":"127.0.0.1","port":1}'),
                ("/brokers/ids/nobody", "{}"),
                ("/config/topics/kept-nonsense", "not-json"),
                ("/isr_change_notification/isr_change_0000000000", "not-json"),
                ("/log_dir_event_notification/log_dir_event_0000000000", "not-json"))):
            self.assertIn(sessions.ask("create", "reader", "break%d" % number, path, value), ("ok 0", "exists"), path)
        state = "/brokers/topics/kept/partitions/1/state"
        self.assertRegex(sessions.ask("set", "reader", "break-state", state, "not-json", -1), "^ok ")
        old = self.kill_active()
        new = self.cluster.servers[self.active()]
        for pattern in ("topic kept-newer is left out: topic of version 99, known are 1 to 3",
                        "topic kept-nonsense is left out", "topic kept-deep is left out", "broker 77 is left out",
                        "broker 78 is left out: broker registration of version 9",
                        "the state of kept-1 is left out", "kept-1 is left alone: its state "):
            new.wait_log("WARN  controller: " + pattern)
        self.cluster.servers[old].start()
        self.cluster.servers[old].wait_ready()
        self.create("whole", [1, 2], [3, 4])
        self.produce("whole", LINES, "-p", "0")
        self.assertEqual(self.consume("whole", "-p", "0"), LINES)
        self.assertEqual(self.consume("kept", "-p", "0"), LINES)
        self.execute("whole", [3, 4], [1, 2])
        self.wait_idle("whole")
        self.assertEqual(self.consume("whole", "-p", "0"), LINES)
        self.assertEqual(self.cluster.ask("get", "/brokers/topics/kept-newer"), "ok 0 " + newer)

    def test_a_controller_epoch_that_is_no_number_is_told_and_mended(self):
        old = self.active()
        others = [broker for broker in self.cluster.servers if broker != old]
        self.create("kept", others)
        self.produce("kept", LINES)
        sessions = self.cluster.sessions
        answer = self.cluster.ask("get", "/controller_epoch")
        self.assertRegex(sessions.ask("set", "reader", "break", "/controller_epoch", "nonsense", -1), "^ok ")
        self.cluster.kill(old)
        for broker, server in self.cluster.servers.items():
            if broker != old:
                server.wait_log("WARN  controller: nobody can be elected: ")
        self.assertEqual(self.consume("kept"), LINES)
        self.assertRegex(sessions.ask("set", "reader", "mend", "/controller_epoch", answer.split()[2], -1), "^ok ")
        wait_until("another controller", lambda: self.cluster.controller() not in (None, old))
        self.cluster.wait_all_ready()
        self.wait_isr("kept", others)
        self.assertEqual(self.consume("kept"), LINES)

    def test_stored_configuration_that_makes_no_sense_is_told_as_trouble(self):
        self.create("kept", [1, 2, 3])
        self.create("other", [1, 2, 3])
        for topic, text in (("kept", '{"version":1,"config":{"min.insync.replicas":"0"}}'), ("other", "nonsense")):
            self.assertRegex(self.cluster.sessions.ask("set", "reader", topic, "/config/topics/" + topic, text, -1), "^ok ")
        server = self.cluster.servers[2]
        self.assertEqual(server.stop(), 0)
        server.start("--log-level", "warn")
        server.wait_log("WARN  stored configuration of kept: Invalid value 0 for configuration min.insync.replicas: "
                        "must be from 1 to 2147483647: ignored\n")
        server.wait_log("WARN  stored configuration of other: /config/topics/other cannot be read: JSON: .*: ignored\n")
        wait_until("broker 2 registered", lambda: self.cluster.znode("/brokers/ids/2"))
        self.produce("kept", LINES)
        self.assertEqual(self.consume("kept"), LINES)

    def test_a_topic_too_large_for_its_znode_is_refused_before_anything_changes(self):
        self.create("kept", [1, 2, 3])
        controller = self.cluster.servers[self.active()].address
        node = self.cluster.ask("get", "/brokers/topics/kept")
        result = self.cluster.admin("topics", "create", "kept-wide", "--partitions", "80000", "--replication-factor", "3",
                                    check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("too large for the metastore", result.stderr)
        self.assertEqual(protocol.create_partitions_told(controller, {"kept": 80000})["kept"],
                         (42, "too large for the metastore"))
        self.assertEqual(self.cluster.ask("get", "/brokers/topics/kept"), node)
        self.assertIsNone(self.cluster.znode("/brokers/topics/kept-wide"))
        self.execute("kept", [4, 2, 3])
        self.wait_idle("kept")


if __name__ == "__main__":
    unittest.main()
