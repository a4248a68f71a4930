"""Throttled moves: case S08 and rows 73, 74, 76 and 77 of the reassignment specification, with real brokers.

That a move is slowed is seen in bytes, not in time: a throttle of 1000 B/s would need hours for what an unthrottled move
beside it copies while the test waits for its end.
"""

import json
import time
import unittest

import configs
import moving
from support import ClusterTest, wait_until

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
LINES = ["line %07d %s" % (i, "payload " * 25) for i in range(60000)]  # 12 MB
SMALL = ("-X", "batch.size=16384", "-X", "compression.codec=none")


class Throttle(ClusterTest):
    brokers = 6

    def reassign(self, action, path=None, *options):
        file = ("--reassignment-json-file", path) if path else ()
        result = self.cluster.admin("reassign", action, *file, *options, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def moving(self):
        return [m["topic"] for m in json.loads(self.reassign("--list", None, "--json"))["reassignments"]]

    def tearDown(self):
        moves = {(topic, 0): [1] for topic in self.moving()}
        if moves:
            self.reassign("--cancel", self.plan(moves))
        wait_until("moves to end", lambda: not self.moving())

    # ---- what brokers hold ----

    def rates(self):
        """{broker: its two rates} where any is set."""
        held = {b: configs.describe("127.0.0.1:%d" % row["port"], configs.BROKER, str(b))
                for b, row in self.status().items() if row["state"] == "running"}
        return {b: tuple(h.get(rate) for rate in RATES) for b, h in held.items() if any(rate in h for rate in RATES)}

    def lists(self, topic):
        held = configs.describe(self.cluster.bootstrap.split(",")[0], configs.TOPIC, topic)
        return tuple(held.get(name) for name in LISTS)

    def wait_held(self, topic, lists, rates):
        """Brokers hear of a stored setting a moment later."""
        wait_until("settings %s %s of %s" % (lists, rates, topic),
                   lambda: self.lists(topic) == lists and self.rates() == rates)

    # ---- tests ----

    def test_s08_and_row_74_lists_and_rates_are_exact(self):
        self.create("exact", [1, 2], [2, 3])
        self.produce("exact", LINES[:20000], "-p", "0", *SMALL)
        self.produce("exact", LINES[:20000], "-p", "1", *SMALL)
        path = self.plan({("exact", 0): [2, 3], ("exact", 1): [3, 1]})
        out = self.reassign("--execute", path, "--throttle", "1000")
        self.assertIn("Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
                      "throttle is removed.\nThe inter-broker throttle limit was set to 1000 B/s\nSuccessfully started "
                      "partition reassignments for exact-0,exact-1\n", out)
        self.wait_held("exact", ("0:1,0:2,1:2,1:3", "0:3,1:1"), {b: ("1000", "1000") for b in (1, 2, 3)})
        override = self.plan({("exact", 0): [2, 4]})
        self.reassign("--execute", override, "--additional", "--throttle", "2000")
        self.wait_held("exact", ("0:1,0:2,1:2,1:3", "0:4,1:1"), {b: ("2000", "2000") for b in (1, 2, 3, 4)})
        out = self.reassign("--cancel", self.plan({("exact", 0): [1], ("exact", 1): [1]}))
        self.assertEqual(out, "Successfully cancelled partition reassignments for: exact-0,exact-1\n"
                              "None of the specified partition moves are active."
                              "Clearing broker-level throttles on brokers 1,2,3,4,5,6\n"
                              "Clearing topic-level throttles on topic exact\n")
        self.wait_held("exact", (None, None), {})

    def test_rows_73_76_and_77_a_throttled_move_is_slow_until_it_is_let_go(self):
        self.create("slow", [1, 2])
        self.create("free", [1, 2])
        self.produce("slow", LINES, *SMALL)
        self.produce("free", LINES, *SMALL)
        size = self.log_bytes("slow", 1)
        self.assertGreater(size, 10 << 20)
        slow = self.plan({("slow", 0): [3, 4]})
        free = self.plan({("free", 0): [3, 4]})
        self.reassign("--execute", slow, "--throttle", "1000")
        self.reassign("--execute", free, "--additional")
        wait_until("the unthrottled move to end", lambda: self.moving() == ["slow"])
        self.wait_replicas("free", [3, 4])
        for broker in (3, 4):
            self.assertLess(self.log_bytes("slow", broker), size // 4)

        done = "Status of partition reassignment:\nReassignment of partition free-0 is completed.\n\n"
        self.assertEqual(self.reassign("--verify", free), done)
        self.assertEqual(self.lists("slow"), ("0:1,0:2", "0:3,0:4"))
        self.assertEqual(sorted(self.rates()), [1, 2, 3, 4])

        self.reassign("--execute", slow, "--additional", "--throttle", "1000000000")
        wait_until("the move to end", lambda: not self.moving())
        self.wait_replicas("slow", [3, 4])
        self.assertEqual(self.consume("slow"), LINES)
        done = done.replace("free", "slow")
        self.assertEqual(self.reassign("--verify", slow, "--preserve-throttles"), done)
        self.assertEqual(self.lists("slow"), ("0:1,0:2", "0:3,0:4"))
        self.assertEqual(self.reassign("--verify", slow), done +
                         "Clearing broker-level throttles on brokers 1,2,3,4,5,6\n"
                         "Clearing topic-level throttles on topic slow\n")
        self.wait_held("slow", (None, None), {})

    def test_row_73_a_leader_gives_no_more_than_its_throttle(self):
        """100 MB to two followers at 10 MB/s; another partition passes."""
        self.create("row73", [1, 2])
        self.create("beside", [1, 2])
        self.produce("row73", moving.LINES, *SMALL)
        self.produce("beside", LINES, *SMALL)
        size = self.log_bytes("row73", 1)
        self.assertGreaterEqual(size, 100000000)
        rate = 10000000
        expected = 2 * size / rate
        began = time.monotonic()
        self.reassign("--execute", self.plan({("row73", 0): [3, 4]}), "--throttle", str(rate))
        self.reassign("--execute", self.plan({("beside", 0): [3, 4]}), "--additional")
        wait_until("the partition without a throttle to end", lambda: self.moving() == ["row73"])
        wait_until("the move to end", lambda: not self.moving(), 3 * expected)
        took = time.monotonic() - began
        self.assertGreaterEqual(took, 0.9 * expected)
        self.assertLessEqual(took, 3 * expected)
        self.assertLessEqual(2 * size / took, 1.1 * rate)
        self.reassign("--verify", self.plan({("row73", 0): [3, 4], ("beside", 0): [3, 4]}))
        self.wait_held("row73", (None, None), {})

    def test_s14_a_dead_source_does_not_keep_the_move_from_starting(self):
        self.create("orphan", [1, 2, 3])
        self.produce("orphan", LINES[:2000], *SMALL)
        self.cluster.dev("stop", "3")
        try:
            standing = self.plan({("orphan", 0): [1, 2, 3]})
            wait_until("the death to be known", lambda: "Broker 3 is not up: a throttle there stays.\n" in self.cluster.admin(
                "reassign", "--verify", "--reassignment-json-file", standing).stderr)
            path = self.plan({("orphan", 0): [1, 2, 4]})
            result = self.cluster.admin("reassign", "--execute", "--reassignment-json-file", path, "--throttle", "1000000")
            self.assertEqual(result.stderr, "Broker 3 is not up: no throttle is set there.\n")
            wait_until("the move to end", lambda: not self.moving())
            self.wait_replicas("orphan", [1, 2, 4])
            wait_until("the rates", lambda: sorted(self.rates()) == [1, 2, 4])
            self.reassign("--verify", path)
        finally:
            self.cluster.dev("start", "3")
        self.wait_held("orphan", (None, None), {})

    def test_a_list_beyond_the_protocols_strings_is_refused_before_anything_changes(self):
        rows = [[1, 2, 3]] * 2000
        self.create("large", *rows)
        path = self.plan({("large", i): [1, 2, 4] for i in range(len(rows))})
        result = self.cluster.admin("reassign", "--execute", "--reassignment-json-file", path, "--throttle", "1000",
                                    check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("Error: topic large: its list of throttled replicas is longer than the 32767 bytes that a setting can "
                      "have; move fewer of its partitions at a time\n", result.stdout)
        self.assertEqual(result.stderr, "Nothing was started.\n")
        self.assertEqual((self.lists("large"), self.rates(), self.moving()), ((None, None), {}, []))

    def test_the_older_request_replaces_all_settings(self):
        self.create("replaced", [1, 2])
        address = self.cluster.bootstrap.split(",")[0]
        self.assertEqual(configs.replace(address, configs.TOPIC, "replaced", {LISTS[0]: "0:1,", "retention.ms": "7000"}), 40)
        self.assertEqual(configs.replace(address, configs.TOPIC, "replaced", {LISTS[0]: "0:1", "retention.ms": "7000"}), 0)
        wait_until("both", lambda: configs.describe(address, configs.TOPIC, "replaced") ==
                   {LISTS[0]: "0:1", "retention.ms": "7000"})
        self.assertEqual(configs.replace(address, configs.TOPIC, "replaced", {LISTS[1]: "*"}), 0)
        wait_until("the one", lambda: configs.describe(address, configs.TOPIC, "replaced") == {LISTS[1]: "*"})


if __name__ == "__main__":
    unittest.main()
