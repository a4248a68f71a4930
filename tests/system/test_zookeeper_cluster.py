"""klamm server: brokers as processes of their own, on a real ZooKeeper in Kafka's layout."""

import os
import re
import shutil
import signal
import tempfile
import time
import unittest

import metrics
import zookeeper
from ports import free_ports
from servers import Server, ServerTest
from support import wait_until

LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(3000)]


class RecordsTest(ServerTest):
    def produce_everywhere(self, topic, partitions):
        """LINES, some to each partition: one without records has no files."""
        for partition in range(partitions):
            self.produce(topic, LINES[partition::partitions], "-p", str(partition))


class ZooKeeperCluster(RecordsTest):
    brokers = 4

    def test_znodes_are_those_of_kafka(self):
        self.create("layout", [1, 2, 3], [2, 3, 1])
        cluster = self.cluster
        registration = cluster.znode("/brokers/ids/2")
        self.assertEqual(registration["endpoints"], ["PLAINTEXT://" + cluster.servers[2].address])
        self.assertEqual((registration["version"], registration["host"], registration["port"]),
                         (5, "127.0.0.1", cluster.servers[2].port))
        self.assertEqual(registration["listener_security_protocol_map"], {"PLAINTEXT": "PLAINTEXT"})
        controller = cluster.znode("/controller")
        self.assertEqual({key: controller[key] for key in ("version", "kraftControllerEpoch")},
                         {"version": 2, "kraftControllerEpoch": -1})
        self.assertIn(controller["brokerid"], cluster.servers)
        topic = cluster.znode("/brokers/topics/layout")
        self.assertRegex(topic.pop("topic_id"), r"^[A-Za-z0-9_-]{22}$")
        self.assertEqual(topic, {"version": 3, "partitions": {"0": [1, 2, 3], "1": [2, 3, 1]}, "adding_replicas": {},
                                 "removing_replicas": {}})
        state = cluster.znode("/brokers/topics/layout/partitions/1/state")
        self.assertEqual(state, {"controller_epoch": state["controller_epoch"], "leader": 2, "version": 1,
                                 "leader_epoch": 0, "isr": [2, 3, 1]})
        self.assertRegex(cluster.znode("/cluster/id")["id"], r"^[A-Za-z0-9_-]{22}$")

    def test_a_deleted_topic_may_be_made_again_at_once(self):
        self.create("again", *[[1, 2, 3]] * 6)
        for _ in range(10):
            self.cluster.admin("topics", "delete", "again")
            self.assertIsNone(self.cluster.znode("/brokers/topics/again"))
            self.create("again", *[[1, 2, 3]] * 6)

    def test_records_come_back_and_lie_in_both_directories(self):
        self.create("records", *[[1 + i % 3, 1 + (i + 1) % 3, 1 + (i + 2) % 3] for i in range(6)])
        self.produce_everywhere("records", 6)
        self.assertEqual(sorted(self.consume("records")), LINES)
        folders = {part for part in self.cluster.servers[1].log_dirs
                   if any(name.startswith("records-") for name in os.listdir(part))}
        self.assertEqual(folders, set(self.cluster.servers[1].log_dirs))

    def test_move_is_in_the_topic_znode_while_it_runs(self):
        self.create("moved", [1, 2, 3])
        self.produce("moved", LINES)
        self.hold(4)
        self.execute("moved", [4, 2, 3])
        topic = self.cluster.znode("/brokers/topics/moved")
        self.assertEqual((topic["adding_replicas"], topic["removing_replicas"]), ({"0": [4]}, {"0": [1]}))
        self.assertEqual(topic["original_replicas"], {"0": [1, 2, 3]})
        self.assertEqual(sorted(topic["partitions"]["0"]), [1, 2, 3, 4])
        self.cluster.servers[4].resume()
        self.wait_idle("moved")
        topic = self.cluster.znode("/brokers/topics/moved")
        self.assertEqual(topic["partitions"], {"0": [4, 2, 3]})
        self.assertNotIn("original_replicas", topic)
        self.wait_isr("moved", [2, 3, 4])
        self.assertEqual(self.consume("moved"), LINES)

    def test_killed_controller_loses_no_move(self):
        active = wait_until("a controller", self.cluster.controller)
        others = [broker for broker in self.cluster.servers if broker != active]
        self.create("survivor", [active, others[0], others[1]])
        self.produce("survivor", LINES)
        self.cluster.servers[others[2]].pause()
        self.execute("survivor", [others[2], others[0], others[1]])
        before = self.cluster.znode("/brokers/topics/survivor")
        self.cluster.kill(active)
        wait_until("another controller", lambda: self.cluster.controller() not in (None, active))
        self.assertEqual(self.cluster.znode("/brokers/topics/survivor"), before)
        self.cluster.servers[others[2]].resume()
        self.cluster.servers[active].start()
        self.wait_idle("survivor")
        self.wait_replicas("survivor", [others[2], others[0], others[1]])
        self.wait_isr("survivor", [others[2], others[0], others[1]])
        self.assertEqual(self.consume("survivor"), LINES)

    def test_stopped_broker_hands_over_and_comes_back(self):
        self.create("rolled", [1, 2, 3])
        self.produce("rolled", LINES)
        server = self.cluster.servers[1]
        self.assertEqual(server.stop(), 0)
        self.assertIn("broker 1 stopped cleanly", server.log())
        self.assertIsNone(self.cluster.znode("/brokers/ids/1"))
        self.assertIn(self.cluster.znode("/brokers/topics/rolled/partitions/0/state")["leader"], (2, 3))
        server.start()
        server.wait_ready()
        self.wait_isr("rolled", [1, 2, 3])
        self.assertEqual(self.consume("rolled"), LINES)

    def test_killed_broker_comes_back_before_its_session_expired(self):
        self.create("killed", [2, 3, 4])
        self.produce("killed", LINES)
        server = self.cluster.servers[2]
        server.kill()
        server.start()
        server.wait_log("broker id 2 is registered by %s; waiting" % server.address)
        self.cluster.end_sessions(2)
        server.wait_ready()
        self.wait_isr("killed", [2, 3, 4])
        self.assertEqual(self.consume("killed"), LINES)

    def test_service_goes_on_without_zookeeper_and_changes_resume_with_it(self):
        self.create("outage", [1, 2, 3])
        self.cluster.zookeeper.kill()
        self.produce("outage", LINES, "-X", "enable.idempotence=false")  # producer ids come from there
        self.assertEqual(self.consume("outage"), LINES)
        for server in self.cluster.servers.values():
            server.wait_log("WARN  ZooKeeper %s: connection lost" % self.cluster.connect)
        self.cluster.zookeeper.start()
        self.cluster.wait_all_ready()
        self.create("outage-after", [4, 1, 2])
        self.produce("outage-after", LINES)
        self.assertEqual(self.consume("outage-after"), LINES)
        self.assertEqual(self.consume("outage"), LINES)

    def test_second_broker_with_the_same_id_is_refused(self):
        twin = self.cluster.new_server("twin", **{"broker.id": 3, "zookeeper.session.timeout.ms": 3000})
        self.addCleanup(twin.close)
        epoch = self.cluster.ask("get", "/brokers/ids/3")
        twin.start()
        self.assertEqual(twin.wait_end(), 1)
        self.assertRegex(twin.log(), r"broker id 3 is registered by %s; waiting up to \d+ ms"
                         % self.cluster.servers[3].address)
        self.assertRegex(twin.log(), r"ERROR broker 3 cannot go on: broker id 3 is in use by another broker \(%s\)"
                         % self.cluster.servers[3].address)
        self.assertEqual(self.cluster.ask("get", "/brokers/ids/3"), epoch)
        self.assertNotIn("left ", twin.log())  # the in-sync sets of the one that lives

    def test_http_port_is_opened_told_and_closed(self):
        server = self.cluster.new_server("watched", **{"broker.id": 60, "klamm.http.port": 0})
        self.addCleanup(server.close)
        server.start()
        server.wait_ready()
        port = int(server.wait_log(r"broker 60 answers HTTP on 127\.0\.0\.1 port (\d+)")[1])
        self.assertEqual(metrics.get(port, "/healthz")[::2], (200, "running\n"))
        self.assertEqual(metrics.scrape(port).value("klamm_broker_registered"), 1)
        second = self.cluster.new_server("second", **{"broker.id": 61, "klamm.http.port": port})
        self.addCleanup(second.close)
        second.start()
        self.assertEqual(second.wait_end(), 1)
        self.assertRegex(second.log(), r"ERROR broker 61 cannot start: klamm\.http\.port: HTTP at 127\.0\.0\.1 port %d: " % port)
        self.assertEqual(server.stop(), 0)
        with self.assertRaises(ConnectionRefusedError):
            metrics.get(port, "/healthz")

    def test_directories_of_another_broker_or_cluster_are_refused(self):
        other = self.cluster.new_server("other", **{"broker.id": 77})
        self.addCleanup(other.close)
        other.start()
        other.wait_ready()
        self.assertEqual(other.stop(), 0)
        other.start("--override", "broker.id=78")
        self.assertEqual(other.wait_end(), 1)
        self.assertRegex(other.log(), r"ERROR broker 78 cannot start: .* belongs to broker 77, this is broker 78")
        elsewhere = "zookeeper.connect=%s/elsewhere" % self.cluster.zookeeper.address
        stranger = self.cluster.new_server("stranger", **{"broker.id": 1})
        self.addCleanup(stranger.close)
        stranger.start("--override", elsewhere)
        stranger.wait_ready()
        other.start("--override", elsewhere)
        self.assertEqual(other.wait_end(), 1)
        self.assertRegex(other.log(), "ERROR broker 77 cannot go on: the log directories belong to cluster")

    def test_generated_id_is_remembered(self):
        server = self.cluster.new_server("automatic")
        self.addCleanup(server.close)
        server.start()
        number = int(server.wait_log(r"broker id (\d+) was generated")[1])
        server.wait_ready()
        self.assertGreater(number, 1000)
        self.assertEqual(server.stop(), 0)
        for directory in server.log_dirs:
            with open(os.path.join(directory, "meta.properties"), encoding="utf-8") as file:
                self.assertEqual(re.findall(r"broker\.id=(\d+)", file.read()), [str(number)])
        server.start()
        server.wait_log("broker %d is ready" % number)
        self.assertNotIn("was generated", server.log())
        self.assertEqual(server.stop(), 0)

    def test_access_lists_belong_to_the_user_of_the_digest_file(self):
        digest = os.path.join(self.cluster.root, "digest")
        with open(digest, "w", encoding="utf-8") as file:
            file.write("klamm:secret\n")
        elsewhere = self.cluster.zookeeper.address + "/guarded"
        server = self.cluster.new_server("guarded", **{"broker.id": 1, "zookeeper.connect": elsewhere,
                                                       "zookeeper.set.acl": "true",
                                                       "klamm.zookeeper.digest.file": digest})
        self.addCleanup(server.close)
        server.start()
        server.wait_ready()
        sessions = self.cluster.sessions
        sessions.open("stranger", elsewhere)
        sessions.open("owner", elsewhere, "klamm:secret")
        self.assertRegex(sessions.ask("get", "stranger", "read", "/cluster/id"), "^ok 0 ")
        self.assertEqual(sessions.ask("set", "stranger", "write", "/cluster/id", "x", -1), "refused")
        self.assertEqual(sessions.ask("create", "stranger", "make", "/admin/delete_topics/x", "x"), "refused")
        self.assertEqual(sessions.ask("create", "owner", "make", "/admin/x", "x"), "ok 0")
        self.assertEqual(server.stop(), 0)

    def test_topic_znode_that_is_no_json_hurts_no_other_topic(self):
        sessions = self.cluster.sessions
        active = wait_until("a controller", self.cluster.controller)
        others = [broker for broker in self.cluster.servers if broker != active]
        self.assertEqual(sessions.ask("create", "reader", "break", "/brokers/topics/broken", "not-json"), "ok 0")
        self.addCleanup(sessions.ask, "delete", "reader", "mend", "/brokers/topics/broken", -1)
        self.cluster.kill(active)
        successor = wait_until("another controller", lambda: self.cluster.controller() not in (None, active)
                               and self.cluster.controller())
        self.cluster.servers[successor].wait_log("WARN  controller: topic broken is left out: ")
        self.create("whole", others)
        self.produce("whole", LINES)
        self.assertEqual(self.consume("whole"), LINES)

    def test_stop_ends_without_zookeeper_and_a_later_signal_at_once(self):
        server = self.cluster.new_server("ended", **{"broker.id": 90, "controller.socket.timeout.ms": 30000})
        self.addCleanup(server.close)
        server.start()
        server.wait_ready()
        self.cluster.zookeeper.pause()
        self.addCleanup(self.cluster.zookeeper.resume)
        self.assertEqual(server.stop(), 0)
        self.cluster.zookeeper.resume()
        self.cluster.end_sessions(90)
        server.start()
        server.wait_ready()
        server.pause()
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGTERM)
        server.resume()
        self.assertEqual(server.wait_end(), 0)  # within a second they are one
        server.start()
        server.wait_ready()
        controller = self.cluster.servers[self.active()]
        controller.pause()  # it is waited for: else the broker ends before the second signal
        self.addCleanup(controller.resume)
        server.process.send_signal(signal.SIGINT)
        server.wait_log("signal 2: handing leaderships over")
        began = time.monotonic()
        server.pause()
        wait_until("the second to be over", lambda: time.monotonic() - began > 1)
        server.process.send_signal(signal.SIGTERM)
        server.resume()
        self.assertEqual(server.wait_end(), 143)
        self.assertIn("WARN  ended at once by another signal 15", server.log())


class EmptiedZooKeeper(RecordsTest):
    """What ZooKeeper forgot is still in the logs of the brokers."""

    brokers = 1

    def folders(self):
        return sorted(name for path in self.cluster.servers[1].log_dirs for name in os.listdir(path)
                      if name.startswith("kept-"))

    def test_emptied_zookeeper_costs_no_records(self):
        self.create("kept", [1], [1])
        self.produce_everywhere("kept", 2)
        server = self.cluster.servers[1]
        cluster_id = self.cluster.znode("/cluster/id")["id"]
        self.cluster.zookeeper.kill()
        self.cluster.zookeeper.clear()
        self.cluster.zookeeper.start()
        self.assertEqual(sorted(self.consume("kept")), LINES)
        server.kill()
        server.start()
        server.wait_ready()
        self.cluster.sessions.open("later", self.cluster.connect)
        self.assertIn(cluster_id, self.cluster.sessions.ask("get", "later", "id", "/cluster/id"))
        self.assertEqual(self.folders(), ["kept-0", "kept-1"])
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.folders(), ["kept-0", "kept-1"])


class ShortSessions(unittest.TestCase):
    """A server that lets sessions last longer than the broker asks for: its minSessionTimeout."""

    def test_killed_broker_waits_for_the_session_that_was_agreed_on(self):
        zookeeper.require()
        root = tempfile.mkdtemp(prefix="klamm-sessions-")
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        metastore = zookeeper.ZooKeeper(tick_ms=500, min_session_ms=6000)
        self.addCleanup(metastore.close)
        server = Server(root, "broker", metastore.address + "/sessions", free_ports(1)[0],
                        **{"broker.id": 1, "zookeeper.session.timeout.ms": 100})
        self.addCleanup(server.close)
        server.start()
        server.wait_ready()
        server.kill()
        server.start()
        server.wait_log("INFO  broker id 1 is registered by %s; waiting up to 1[12][0-9]{3} ms for that session to end"
                        % server.address)
        server.wait_ready()
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
