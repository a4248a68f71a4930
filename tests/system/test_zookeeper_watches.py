"""What others change in ZooKeeper and the controller has to see: the watches of section 3 of the ZooKeeper-mode
specification, with real processes. Those of /admin/reassign_partitions are in test_zookeeper_legacy.py."""

import json
import unittest

import protocol
from servers import ServerTest
from support import kcat, wait_until

LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(1000)]
PLAN = "/admin/reassign_partitions"


class WatchTest(ServerTest):
    def ask(self, kind, path, *words):
        self.cluster.asked += 1
        return self.cluster.sessions.ask(kind, "reader", self.cluster.asked, path, *words)

    def put(self, path, value):
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        self.assertEqual(self.ask("create", path, text), "ok 0")

    def set(self, path, value):
        self.assertRegex(self.ask("set", path, json.dumps(value, separators=(",", ":")), -1), r"^ok \d")

    def wait_gone(self, path):
        wait_until(path + " to be gone", lambda: self.ask("get", path).startswith("not"))


class ZooKeeperWatches(WatchTest):
    brokers = 3

    def test_partitions_added_in_the_topic_znode(self):
        self.create("grown", [1, 2])
        node = self.cluster.znode("/brokers/topics/grown")
        node["partitions"]["1"] = [2, 3]
        self.set("/brokers/topics/grown", node)
        wait_until("a leader", lambda: (self.state("grown", 1) or {}).get("leader") == 2)
        self.wait_known("grown", 2)
        self.produce("grown", LINES, "-p", "1")
        self.assertEqual(self.consume("grown"), LINES)
        self.assertEqual(self.cluster.znode("/brokers/topics/grown"), node)

    def test_partitions_that_a_client_adds(self):
        self.create("wider", [1, 2])
        address = self.cluster.servers[self.active()].address
        self.assertEqual(protocol.create_partitions(address, {"wider": 3}), {"wider": 0})
        wait_until("leaders", lambda: all((self.state("wider", p) or {}).get("leader", -1) > 0 for p in (1, 2)))
        self.wait_known("wider", 3)
        self.produce("wider", LINES, "-p", "2")
        self.assertEqual(self.consume("wider"), LINES)

    def test_topic_made_in_the_znodes(self):
        self.put("/config/topics/made", {"version": 1, "config": {"min.insync.replicas": "2"}})
        self.put("/brokers/topics/made", {"version": 1, "partitions": {"0": [3, 1], "1": [1, 2]}})
        wait_until("leaders", lambda: [(self.state("made", p) or {}).get("leader") for p in (0, 1)] == [3, 1])
        self.wait_known("made", 2)
        self.produce("made", LINES, "-p", "0")
        self.assertEqual(self.consume("made"), LINES)
        self.assertRegex(self.cluster.znode("/brokers/topics/made")["topic_id"], "^[A-Za-z0-9_-]{22}$")

    def test_topic_that_a_client_names_is_created(self):
        self.produce("named", LINES)
        self.assertEqual(self.consume("named"), LINES)
        self.assertEqual(self.cluster.znode("/config/topics/named"), {"version": 1, "config": {}})

    def test_deletion_queued_by_others(self):
        self.create("queued", [1, 2, 3])
        self.produce("queued", LINES)
        self.put("/admin/delete_topics/queued", "x")
        self.put("/admin/delete_topics/unknown", "x")
        for path in ("/admin/delete_topics/queued", "/admin/delete_topics/unknown", "/brokers/topics/queued",
                     "/config/topics/queued"):
            self.wait_gone(path)
        wait_until("the files gone", lambda: self.folders("queued") == set())

    def test_broker_that_changes_its_registration_is_told_to_all(self):
        path = "/brokers/ids/2"
        node = self.cluster.znode(path)
        other = {**node, "host": "localhost",
                 "endpoints": [e.replace("127.0.0.1", "localhost") for e in node["endpoints"]]}
        self.set(path, other)
        place = "broker 2 at localhost:%d" % self.cluster.servers[2].port
        for broker in (1, 3):
            wait_until("broker %d to know it" % broker, lambda address=self.cluster.servers[broker].address:
                       place in kcat("-b", address, "-L").stdout)
        self.set(path, node)
        wait_until("the old place", lambda: place not in kcat("-b", self.cluster.servers[1].address, "-L").stdout)
        self.create("reached", [2, 1])
        self.produce("reached", LINES)
        self.assertEqual(self.consume("reached"), LINES)

    def test_notices_are_consumed(self):
        self.create("noticed", [1, 2])
        self.produce("noticed", LINES)
        names = {"/isr_change_notification/isr_change_0000000007":
                 {"version": 1, "partitions": [{"topic": "noticed", "partition": 0}, {"topic": "no", "partition": 1}]},
                 "/log_dir_event_notification/log_dir_event_0000000007": {"version": 1, "broker": 1, "event": 1}}
        for path, value in names.items():
            self.put(path, value)
        for path in names:
            self.wait_gone(path)
        active = self.active()
        self.cluster.servers[active].kill()  # and those that lie there when a controller begins
        for path, value in names.items():
            self.put(path.replace("7", "8"), value)
        self.cluster.end_sessions(active)
        for path in names:
            self.wait_gone(path.replace("7", "8"))
        self.cluster.wait_all_ready()
        self.wait_isr("noticed", [1, 2])
        self.assertEqual(self.consume("noticed"), LINES)

    def test_isr_that_a_leader_wrote_is_told_to_all(self):
        """The leader is not really an old one: it takes its in-sync set from the controller's word."""
        self.create("written", [1, 2, 3])
        path = "/brokers/topics/written/partitions/0/state"
        node = self.state("written")
        self.set(path, {**node, "isr": [1, 2]})
        self.put("/isr_change_notification/isr_change_0000000009",
                 {"version": 1, "partitions": [{"topic": "written", "partition": 0}]})
        wait_until("a broker to tell it", lambda: self.isr("written") == [[1, 2]])

    def test_state_znode_that_is_no_json_hurts_no_other_partition(self):
        self.create("broken", [1, 2, 3], [2, 3, 1])
        path = "/brokers/topics/broken/partitions/0/state"
        node = self.state("broken")
        self.assertRegex(self.ask("set", path, "not-json", -1), r"^ok \d")
        self.kill_active()
        self.cluster.wait_all_ready()
        self.cluster.servers[self.active()].wait_log("broken-0 is left alone: its state %s cannot be read: " % path)
        self.create("unhurt", [1, 2, 3])
        self.produce("unhurt", LINES)
        self.assertEqual(self.consume("unhurt"), LINES)
        answer = protocol.alter(self.cluster.servers[self.active()].address, {"broken": {0: [3, 2], 1: [3, 2]}})
        self.assertEqual(answer, (0, {("broken", 0): 3, ("broken", 1): 0}))
        wait_until("the move of the other partition", lambda: self.cluster.znode("/brokers/topics/broken")["partitions"]
                   == {"0": [1, 2, 3], "1": [3, 2]})
        self.set(path, node)
        self.cluster.servers[self.active()].wait_log("broken-0: its state is back")
        wait_until("all to know it", lambda: all(
            protocol.metadata(server.address, "broken")[0] == 0 and 0 in protocol.metadata(server.address, "broken")[1]
            for server in self.cluster.servers.values()))
        self.produce("broken", LINES, "-p", "0")
        self.assertEqual(self.consume("broken", "-p", "0"), LINES)


class ZooKeeperRebalance(WatchTest):
    brokers = 3
    settings = {"auto.leader.rebalance.enable": "true", "leader.imbalance.check.interval.seconds": 1,
                "delete.topic.enable": "false"}

    def test_leadership_returns_to_a_broker_that_returns(self):
        self.create("balanced", [1, 2, 3], [1, 3, 2])
        self.produce("balanced", LINES, "-p", "0")
        self.cluster.kill(1)
        wait_until("other leaders", lambda: all(self.state("balanced", p)["leader"] in (2, 3) for p in (0, 1)))
        self.cluster.servers[1].start()
        wait_until("the preferred ones", lambda: all(self.state("balanced", p)["leader"] == 1 for p in (0, 1)))
        self.assertEqual(self.consume("balanced"), LINES)

    def test_deletion_that_is_switched_off_is_dropped(self):
        self.create("lasting", [1, 2])
        self.produce("lasting", LINES)
        self.put("/admin/delete_topics/lasting", "x")
        self.wait_gone("/admin/delete_topics/lasting")
        self.assertEqual(self.consume("lasting"), LINES)
        self.cluster.servers[self.active()].wait_log("topic lasting is not deleted: delete.topic.enable is false")


class ZooKeeperLevel(WatchTest):
    brokers = 3
    settings = {"inter.broker.protocol.version": "2.3"}

    def test_plan_waits_until_the_level_rises(self):
        self.create("held", [1, 2])
        self.produce("held", LINES)
        plan = {"version": 1, "partitions": [{"topic": "held", "partition": 0, "replicas": [3, 2]}]}
        self.put(PLAN, plan)
        self.cluster.servers[self.active()].wait_log(
            "WARN  controller: %s asks for 1 moves: they wait until inter.broker.protocol.version is 2.4-IV0" % PLAN)
        self.cluster.servers[self.kill_active()].start()  # the next one lets it wait, too
        self.cluster.servers[self.active()].wait_log("asks for 1 moves: they wait")
        self.assertEqual(self.cluster.znode("/brokers/topics/held"), {"version": 1, "partitions": {"0": [1, 2]}})
        self.assertEqual(self.cluster.znode(PLAN), plan)
        for server in self.cluster.servers.values():
            server.stop()
            server.start("--override", "inter.broker.protocol.version=2.4")
            server.wait_ready()
        self.wait_gone(PLAN)
        self.assertEqual(self.cluster.znode("/brokers/topics/held")["partitions"], {"0": [3, 2]})
        self.assertEqual(self.consume("held"), LINES)
        wait_until("no other copies", lambda: self.folders("held") == {2, 3})


if __name__ == "__main__":
    unittest.main()
