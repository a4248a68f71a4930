"""What old tools write into ZooKeeper for the controller, with real processes: rows 39, 40, 46 and 57 to 61 of section
15 of the reassignment specification (/admin/reassign_partitions), and /admin/preferred_replica_election."""

import json
import os
import subprocess
import unittest

from servers import KLAMM, ServerTest
from support import wait_until

LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(2000)]
PLAN = "/admin/reassign_partitions"
ELECTION = "/admin/preferred_replica_election"


class ZooKeeperLegacy(ServerTest):
    brokers = 4

    def setUp(self):
        super().setUp()
        self.first = self.active()
        self.others = [broker for broker in self.cluster.servers if broker != self.first]

    def put(self, path, value):
        """Creates the node, as an old tool does."""
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        self.cluster.asked += 1
        answer = self.cluster.sessions.ask("create", "reader", self.cluster.asked, path, text)
        self.assertEqual(answer, "ok 0")

    def ask_for(self, *entries):
        """The plan of moves: (topic, partition, replicas) each."""
        self.put(PLAN, {"version": 1, "partitions": [{"topic": topic, "partition": partition, "replicas": replicas}
                                                     for topic, partition, replicas in entries]})

    def asked_for(self):
        """The entries that are left; None without a znode."""
        node = self.cluster.znode(PLAN)
        return None if node is None else [(e["topic"], e["partition"], e["replicas"]) for e in node["partitions"]]

    def wait_asked_for(self, *entries):
        wait_until("the plan to be %s" % (entries,), lambda: self.asked_for() == list(entries))

    def wait_done(self):
        wait_until("the plan to be gone", lambda: self.asked_for() is None)

    def stored(self, topic):
        return self.cluster.znode("/brokers/topics/" + topic)["partitions"]

    def listed(self, topic):
        moves = json.loads(self.cluster.admin("reassign", "--list", "--json").stdout)
        return {move["partition"]: move["replicas"] for move in moves["reassignments"] if move["topic"] == topic}

    def bring_down(self, broker):
        self.cluster.kill(broker)
        wait_until("broker %d gone" % broker, lambda: self.cluster.znode("/brokers/ids/%d" % broker) is None)

    def controller_log(self):
        return self.cluster.servers[self.cluster.controller()].log()

    def test_rows_39_and_40_a_dead_target_is_waited_for(self):
        source, target = self.others[:2]
        self.create("row39", [source])
        self.produce("row39", LINES)
        self.bring_down(target)
        epoch = self.state("row39")["leader_epoch"]
        self.ask_for(("row39", 0, [target]))
        wait_until("the epoch of A1", lambda: self.state("row39")["leader_epoch"] == epoch + 1)
        self.assertEqual(self.listed("row39"), {0: [target, source]})
        self.assertEqual(self.state("row39")["leader"], source)
        self.assertEqual(self.asked_for(), [("row39", 0, [target])])
        self.cluster.servers[target].start()
        self.wait_done()
        self.assertEqual(self.stored("row39"), {"0": [target]})
        self.assertEqual(self.state("row39")["leader_epoch"], epoch + 4)
        self.wait_isr("row39", [target])
        self.assertEqual(self.consume("row39"), LINES)

    def test_row_46_an_entry_left_behind_moves_nothing(self):
        a, b, _ = self.others
        self.create("row46", [a, b])
        self.produce("row46", LINES)
        epoch = self.state("row46")["leader_epoch"]
        self.cluster.servers[self.first].kill()
        self.ask_for(("row46", 0, [a, b]))  # nobody is there to see it
        self.cluster.end_sessions(self.first)
        self.wait_done()
        self.assertEqual(self.stored("row46"), {"0": [a, b]})
        self.assertEqual(self.state("row46")["leader_epoch"], epoch + 1)
        self.assertEqual(self.folders("row46"), {a, b})
        self.wait_isr("row46", [a, b])

    def end_at(self, point):
        """The controller kills itself when it next comes to the fault point."""
        with open(KLAMM, "rb") as program:
            if b"KLAMM_FAULT_DIR" not in program.read():
                self.skipTest("a release build has no fault points")
        path = os.path.join(self.cluster.fault_dir, point)
        with open(path, "w", encoding="utf-8"):
            pass
        return path

    def wait_ended(self, path):
        wait_until("the end " + path, lambda: not os.path.exists(path))
        self.assertEqual(self.cluster.servers[self.first].wait_end(), -9)

    def test_row_46_a_controller_that_ends_between_b6_and_b7(self):
        a, b, target = self.others
        self.create("row46-killed", [a, b])
        self.produce("row46-killed", LINES)
        path = self.end_at("before-B7")
        self.ask_for(("row46-killed", 0, [a, target]))
        self.wait_ended(path)
        self.assertEqual(self.stored("row46-killed"), {"0": [a, target]})
        self.assertEqual(self.asked_for(), [("row46-killed", 0, [a, target])])
        self.cluster.end_sessions(self.first)
        self.wait_done()
        self.assertEqual(self.stored("row46-killed"), {"0": [a, target]})
        wait_until("no other copies", lambda: self.folders("row46-killed") == {a, target})
        self.wait_isr("row46-killed", [a, target])
        self.assertEqual(self.consume("row46-killed"), LINES)

    def test_row_58_a_controller_that_ends_before_the_request_starts(self):
        a, b, target = self.others
        self.create("row58-killed", [a, b])
        self.produce("row58-killed", LINES)
        self.bring_down(target)
        self.ask_for(("row58-killed", 0, [a, target]))
        wait_until("the move", lambda: self.listed("row58-killed"))
        path = self.end_at("after-B7")
        asker = subprocess.Popen([KLAMM, "reassign", "--cancel", "--reassignment-json-file",
                                  self.plan("row58-killed", [a, target]), "--bootstrap-server", self.cluster.bootstrap],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(asker.wait)
        self.addCleanup(asker.kill)
        self.wait_ended(path)
        self.assertIsNone(self.asked_for())
        asker.kill()  # it was answered by nobody, and does not ask again
        self.cluster.end_sessions(self.first)
        self.cluster.servers[self.first].start()
        self.cluster.servers[target].start()
        self.wait_idle("row58-killed")
        self.assertEqual(self.stored("row58-killed"), {"0": [a, target]})
        self.wait_isr("row58-killed", [a, target])
        self.assertEqual(self.consume("row58-killed"), LINES)

    def test_row_57_the_plan_wins_over_a_running_move(self):
        a, b, target = self.others
        self.create("row57", [a, b])
        self.produce("row57", LINES)
        self.cluster.servers[target].pause()
        self.execute("row57", [a, target])
        self.ask_for(("row57", 0, [a, self.first]))
        self.wait_done()
        self.assertEqual(self.stored("row57"), {"0": [a, self.first]})
        self.cluster.servers[target].resume()
        wait_until("no other copies", lambda: self.folders("row57") == {a, self.first})
        self.wait_isr("row57", [a, self.first])
        self.assertEqual(self.consume("row57"), LINES)

    def test_row_58_a_request_takes_its_partition_out(self):
        a, b, target = self.others
        self.create("row58", [a, b], [a, b])
        self.produce("row58", LINES)
        self.bring_down(target)
        self.ask_for(("row58", 0, [a, target]), ("row58", 1, [a, target]))
        wait_until("both moves", lambda: len(self.listed("row58")) == 2)
        self.execute("row58", [a, self.first], options=("--additional",))
        self.assertEqual(self.asked_for(), [("row58", 1, [a, target])])
        wait_until("the move of partition 0", lambda: list(self.listed("row58")) == [1])
        self.assertEqual(self.asked_for(), [("row58", 1, [a, target])])
        self.cluster.servers[target].start()
        self.wait_done()
        self.assertEqual(self.stored("row58"), {"0": [a, self.first], "1": [a, target]})
        self.assertEqual(sorted(self.consume("row58")), LINES)

    def test_row_59_a_cancel_takes_the_plan_with_it(self):
        a, b, target = self.others
        self.create("row59", [b, a])
        self.produce("row59", LINES)
        self.bring_down(target)
        self.ask_for(("row59", 0, [target, a]))
        wait_until("the move", lambda: self.listed("row59"))
        self.reassign("--cancel", self.plan("row59", [target, a]))
        self.wait_done()
        self.assertEqual(self.stored("row59"), {"0": [b, a]})
        self.ask_for(("row59", 0, [a]))
        self.wait_done()
        self.assertEqual(self.stored("row59"), {"0": [a]})
        self.assertEqual(self.consume("row59"), LINES)

    def test_row_60_a_new_controller_asks_the_plan_first(self):
        a, b, c = self.others
        self.create("row60", [a, b])
        self.produce("row60", LINES)
        self.cluster.servers[c].pause()
        self.execute("row60", [c, b])
        self.cluster.servers[self.first].kill()
        self.ask_for(("row60", 0, [b, a]))
        self.cluster.end_sessions(self.first)
        self.cluster.servers[c].resume()
        self.wait_done()
        self.assertEqual(self.stored("row60"), {"0": [b, a]})
        wait_until("no other copies", lambda: self.folders("row60") == {a, b})
        self.wait_isr("row60", [a, b])
        self.assertEqual(self.consume("row60"), LINES)

    def test_row_61_bad_entries_go_and_good_ones_run(self):
        a, b, c = self.others
        self.create("row61", [a, b], [a, b])
        self.produce("row61", LINES)
        self.ask_for(("nowhere", 0, [a]), ("row61", 7, [a]), ("row61", 1, []), ("row61", 0, [a, c]))
        self.wait_done()
        self.assertEqual(self.stored("row61"), {"0": [a, c], "1": [a, b]})
        for entry in ("nowhere-0 is removed: there is no such partition",
                      "row61-7 is removed: there is no such partition",
                      "row61-1 is removed: the replica list is empty"):
            self.assertIn("WARN  controller: %s: %s" % (PLAN, entry), self.controller_log())
        self.assertEqual(sorted(self.consume("row61")), LINES)

    def test_a_plan_that_is_no_json_is_left_alone(self):
        self.put(PLAN, "{oops")
        self.addCleanup(self.cluster.sessions.ask, "delete", "reader", "mend", PLAN, -1)
        wait_until("its line in the log",
                   lambda: "WARN  controller: %s cannot be read and is left alone: " % PLAN in self.controller_log())
        self.create("unhurt", self.others[:2])
        self.execute("unhurt", self.others[1:])
        self.wait_idle("unhurt")
        self.assertEqual(self.stored("unhurt"), {"0": self.others[1:]})

    def test_preferred_leaders_are_elected(self):
        a, b, _ = self.others
        self.create("elected", [a, b])
        self.execute("elected", [b, a])
        self.wait_idle("elected")
        self.assertEqual(self.state("elected")["leader"], a)
        self.put(ELECTION, {"version": 1, "partitions": [{"topic": "elected", "partition": 0},
                                                         {"topic": "nowhere", "partition": 0}]})
        wait_until("the request to be gone", lambda: self.cluster.znode(ELECTION) is None)
        self.assertEqual(self.state("elected")["leader"], b)

    def test_topics_without_an_id_get_one(self):
        a, b, _ = self.others
        self.put("/brokers/topics/old", {"version": 1, "partitions": {"0": [a, b]}})
        wait_until("an id", lambda: "topic_id" in self.cluster.znode("/brokers/topics/old"))
        self.produce("old", LINES)
        self.assertEqual(self.consume("old"), LINES)


if __name__ == "__main__":
    unittest.main()
