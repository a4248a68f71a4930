"""Levels of inter.broker.protocol.version with real brokers: decision 9, and a rolling raise while moves run."""

import struct
import unittest

import configs
import protocol
from moves_report import Report
from servers import ServerTest
from support import Writer, wait_until

LINES = ["line %06d %s" % (i, "payload " * 25) for i in range(20000)]  # 4 MB
PLAN = "/admin/reassign_partitions"
LEVEL = "inter.broker.protocol.version"


def advertised(address):
    """The keys that ApiVersions lists; version 0."""
    answer = protocol.call(address, 18, 0, b"")
    assert answer.take("h") == 0
    return {row[0] for row in answer.array(lambda: (answer.take("h"), answer.take("h"), answer.take("h")))}


def alter(address, topic, partition, replicas):
    """(top code, {(topic, partition): code}) of one entry."""
    part = struct.pack(">i", partition) + protocol.compact_array([struct.pack(">i", r) for r in replicas]) + b"\0"
    row = protocol.compact_text(topic) + protocol.compact_array([part]) + b"\0"
    answer = protocol.call(address, 45, 0, struct.pack(">i", 30000) + protocol.compact_array([row]) + b"\0", True)
    answer.take("i")
    top = answer.take("h")
    answer.compact_text()
    found = {}

    def partition_row(name):
        index, code = answer.take("i"), answer.take("h")
        answer.compact_text()
        answer.tags()
        found[(name, index)] = code

    def topic_row():
        name = answer.compact_text()
        answer.compact_array(lambda: partition_row(name))
        answer.tags()
    answer.compact_array(topic_row)
    return top, found


class Levels(ServerTest):
    def raise_level(self, level, check=lambda: None):
        """One broker after the other, as operators do; the next only when this one is in sync again, and after check."""
        for broker, server in self.cluster.servers.items():
            self.assertEqual(server.stop(), 0)
            server.configure(**{LEVEL: level})
            server.start()
            server.wait_ready()
            self.wait_whole(broker)
            check()

    def wait_whole(self, broker):
        """Every partition of the broker that is not about to leave it has it in the in-sync set."""
        def is_whole():
            for topic in self.cluster.children("/brokers/topics"):
                node = self.cluster.znode("/brokers/topics/" + topic)
                for partition, replicas in node["partitions"].items():
                    state = self.cluster.znode("/brokers/topics/%s/partitions/%s/state" % (topic, partition))
                    coming = node.get("adding_replicas", {}).get(partition, [])
                    if broker in replicas and broker not in coming and (state is None or broker not in state["isr"]):
                        return False
            return True
        wait_until("broker %d to be in sync" % broker, is_whole)


class OldLevel(Levels):
    brokers = 3
    settings = {LEVEL: "2.2", "replica.lag.time.max.ms": 3000}

    def test_a_cluster_of_2_2_serves_and_refuses_moves(self):
        self.create("old", [1, 2, 3], [2, 3, 1])
        self.produce("old", LINES[:1000], "-p", "0")
        self.produce("old", LINES[1000:2000], "-p", "1")
        self.assertEqual(sorted(self.consume("old")), LINES[:2000])
        cluster = self.cluster
        for server in cluster.servers.values():
            self.assertFalse(advertised(server.address) & {45, 46})
            self.assertEqual(alter(server.address, "old", 0, [1, 2]), (35, {("old", 0): 35}))
        self.assertEqual(cluster.znode("/brokers/topics/old"),
                         {"version": 1, "partitions": {"0": [1, 2, 3], "1": [2, 3, 1]}})
        self.assertEqual(cluster.znode("/brokers/ids/1")["version"], 4)
        self.assertNotIn("features", cluster.znode("/brokers/ids/1"))
        self.assertEqual(cluster.znode("/feature"), {"version": 1, "status": 0, "features": {}})
        self.assertEqual(cluster.znode("/latest_producer_id_block")["version"], 1)
        result = self.execute("old", [1, 2], check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("does not offer ListPartitionReassignments", result.stdout + result.stderr)
        self.assertEqual(self.replicas("old"), [[1, 2, 3], [2, 3, 1]])

    def test_leaders_of_2_2_keep_the_in_sync_sets_themselves(self):
        active = wait_until("a controller", self.cluster.controller)
        leader, follower = [broker for broker in self.cluster.servers if broker != active]
        self.create("kept", [leader, follower, active])
        state = "/brokers/topics/kept/partitions/0/state"
        before = self.cluster.znode(state)
        self.cluster.servers[follower].pause()
        self.produce("kept", LINES[:100])  # is acknowledged when the follower is out
        self.assertNotIn(follower, self.cluster.znode(state)["isr"])
        self.cluster.servers[follower].resume()
        self.wait_isr("kept", [1, 2, 3])
        self.assertEqual(self.cluster.znode(state)["leader"], before["leader"])
        wait_until("the notifications to be read", lambda: not self.cluster.children("/isr_change_notification"))
        self.assertEqual(self.consume("kept"), LINES[:100])

    def test_the_plan_of_an_old_tool_waits_for_the_level(self):
        self.create("waits", [1, 2])
        self.produce("waits", LINES[:100])
        plan = '{"version":1,"partitions":[{"topic":"waits","partition":0,"replicas":[2,3]}]}'
        self.cluster.asked += 1
        self.assertEqual(self.cluster.sessions.ask("create", "reader", self.cluster.asked, PLAN, plan), "ok 0")
        self.cluster.servers[wait_until("a controller", self.cluster.controller)].wait_log(
            "asks for 1 moves: they wait until inter.broker.protocol.version is 2.4-IV0 or later")
        self.assertEqual(self.replicas("waits"), [[1, 2]])
        self.raise_level("2.4")
        wait_until("the plan to be done", lambda: self.cluster.znode(PLAN) is None)
        self.wait_replicas("waits", [2, 3])
        self.wait_isr("waits", [2, 3])
        self.assertEqual(self.consume("waits"), LINES[:100])
        self.raise_level("2.2")  # for the other tests; not something to do with data that matters
        self.assertEqual(self.cluster.znode("/brokers/topics/waits")["partitions"], {"0": [2, 3]})


class RollingRaise(Levels):
    brokers = 4
    settings = {LEVEL: "2.4"}

    def move(self):
        """The move of raised as the controller lists it, to all who ask and to those who ask for more."""
        def look():
            controller = self.cluster.controller()
            if controller is None:
                return None
            address = self.cluster.servers[controller].address
            code, listed = protocol.list_moves(address)
            report = Report(address)
            if code != 0 or report.code != 0:
                return None
            move = report.moves["raised", 0]
            return {"listed": listed, "started_ms": move["started_ms"], "submitted_by": move["submitted_by"],
                    "original": move["original"]}
        return wait_until("the list of moves", look)

    def throttle(self, rate):
        """Of what broker 4 copies; the others may read as they can, and are soon in sync again."""
        address = self.cluster.servers[4].address
        self.assertEqual(configs.replace(address, configs.TOPIC, "raised", {"follower.replication.throttled.replicas": "0:4"}), 0)
        self.assertEqual(configs.replace(address, configs.BROKER, "4", {"follower.replication.throttled.rate": rate}), 0)

    def assert_moving(self):
        """What the topic znode says of the move is what its start wrote there."""
        node = self.cluster.znode("/brokers/topics/raised")
        self.assertEqual((node["partitions"], node["adding_replicas"], node["removing_replicas"], node["original_replicas"]),
                         ({"0": [4, 1, 2, 3]}, {"0": [4]}, {"0": [3]}, {"0": [1, 2, 3]}))

    def test_a_rolling_raise_under_load_loses_nothing(self):
        self.create("raised", [1, 2, 3])
        lines = LINES * 3  # ten minutes of copying
        self.produce("raised", lines)
        self.throttle("20000")
        writer = Writer(",".join(server.address for server in self.cluster.servers.values()), "raised")
        self.execute("raised", [4, 1, 2])
        self.assertNotIn("topic_id", self.cluster.znode("/brokers/topics/raised"))
        wait_until("the start of the move to be kept", lambda: self.cluster.znode("/klamm/moves/raised:0"))
        before = self.move()
        self.assertEqual(before["listed"], {("raised", 0): ([4, 1, 2, 3], [4], [3])})
        self.raise_level("2.8", self.assert_moving)
        moving = self.cluster.znode("/brokers/topics/raised")
        self.assertRegex(moving["topic_id"], r"^[A-Za-z0-9_-]{22}$")
        self.assertEqual(self.move(), before)
        self.raise_level("3.9", self.assert_moving)
        self.assertEqual(self.move(), before)
        self.assertEqual(self.cluster.znode("/feature"), {"version": 2, "status": 1, "features": {}})
        self.assertEqual(self.cluster.znode("/brokers/topics/raised")["topic_id"], moving["topic_id"])
        self.throttle("1000000000")
        self.wait_idle("raised")
        self.wait_replicas("raised", [4, 1, 2])
        self.wait_isr("raised", [1, 2, 4])
        written = writer.finish()
        self.assertEqual(self.consume("raised"), lines + written)


if __name__ == "__main__":
    unittest.main()
