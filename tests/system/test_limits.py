"""Limits of moves with real brokers: what S10, S13 and S14 of the field scenarios ask of a throttle.

That a copy is held back is seen in bytes, not in time: what is left of it would need minutes, while others beside it end.
"""

import json
import threading
import unittest

import limits
from support import ClusterTest, kcat, wait_until

LINES = ["line %07d %s" % (i, "payload " * 25) for i in range(60000)]  # 12 MB
SMALL = ("-X", "batch.size=16384", "-X", "compression.codec=none")
SLOW = 20000  # bytes a second: minutes for what a test has to copy
FAST = 1000000000


class Limits(ClusterTest):
    brokers = 4

    def move(self, topic, replicas):
        path = self.plan({(topic, 0): replicas})
        self.cluster.admin("reassign", "--execute", "--additional", "--reassignment-json-file", path)

    def moving(self):
        """Sorted; asked again while the controller changes."""
        def ask():
            result = self.cluster.admin("reassign", "--list", "--json", check=False)
            return json.loads(result.stdout) if result.returncode == 0 else None
        return sorted(m["topic"] for m in wait_until("the list of moves", ask)["reassignments"])

    def await_idle(self):
        wait_until("moves to end", lambda: not self.moving())

    def start(self, topic, replicas=(1,), lines=LINES):
        self.create(topic, list(replicas))
        self.produce(topic, lines, *SMALL)

    def details(self, topic, broker):
        return limits.details(self.address(broker), topic, 0)


class OneController(Limits):
    def setUp(self):
        limits.tell(self, [])

    def test_a_paused_copy_waits_and_keeps_its_bytes(self):
        self.start("paused")
        self.start("beside")
        limits.tell(self, [(SLOW, {"paused": [0]})])
        self.move("paused", [3])
        wait_until("the copy to begin", lambda: self.log_bytes("paused", 3) > 0)
        limits.tell(self, [(0, {"paused": [0]})])
        row = wait_until("the pause to be told", lambda: [r for r in [self.details("paused", 3)] if r["throttle_rate"] == 0])[0]
        self.assertEqual((row["is_throttled"], row["error"], row["is_leader"]), (True, 0, False))
        copied = self.log_bytes("paused", 3)
        self.move("beside", [3])
        wait_until("the one beside it to end", lambda: self.moving() == ["paused"])
        self.assertLess(self.log_bytes("paused", 3) - copied, 200000)  # what was on its way
        copied = self.log_bytes("paused", 3)
        limits.tell(self, [(SLOW, {"paused": [0]})])
        wait_until("the copy to go on", lambda: self.log_bytes("paused", 3) > copied)
        limits.tell(self, [])
        self.await_idle()
        self.assertEqual(self.consume("paused"), LINES)

    def test_only_replicas_that_are_added_are_held(self):
        self.start("held", (1, 2))
        limits.tell(self, [(0, {"held": [0], "other": [0]})])
        self.move("held", [1, 2, 3])
        more = ["more %d" % i for i in range(2000)]
        self.produce("held", more, *SMALL)  # acks=all: both members in sync follow
        self.assertEqual(self.consume("held"), LINES + more)
        # A member that was away catches up beyond any limit.
        self.cluster.dev("kill", "2")
        wait_until("the death to be known", lambda: self.partitions("held")[0]["isr"] == [1])
        self.produce("held", more, *SMALL)
        self.cluster.dev("start", "2")
        wait_until("broker 2 in sync", lambda: sorted(self.partitions("held")[0]["isr"]) == [1, 2])
        self.assertEqual(self.moving(), ["held"])
        self.assertLess(self.log_bytes("held", 3), self.log_bytes("held", 1) // 4)
        limits.tell(self, [])
        self.await_idle()
        self.assertEqual(self.consume("held"), LINES + more + more)

    def test_s13_a_rate_below_what_is_written_is_told_and_can_be_raised(self):
        self.start("growing")
        limits.tell(self, [(100000, {"growing": [0]})])
        self.move("growing", [3])
        is_over = threading.Event()

        def write():
            while not is_over.is_set():
                self.produce("growing", LINES[:2000], *SMALL)  # 0.4 MB, several times a second

        writer = threading.Thread(target=write)
        writer.start()
        try:
            row = wait_until("the rate of the writer", lambda: [r for r in [self.details("growing", 1)]
                                                                if r["write_rate"] > r["throttle_rate"] > 0])[0]
            self.assertEqual((row["throttle_rate"], row["is_leader"]), (100000, True))
            copied = self.log_bytes("growing", 3)
            limits.tell(self, [(FAST, {"growing": [0]})])
            self.await_idle()
            self.assertGreater(self.log_bytes("growing", 3), copied)
        finally:
            is_over.set()
            writer.join()
        self.assertEqual(self.partitions("growing")[0]["replicas"], [3])

    def test_s14_a_dead_replica_does_not_matter(self):
        self.start("orphan", (1, 2, 3))
        self.cluster.dev("kill", "3")
        try:
            wait_until("the death to be known", lambda: self.partitions("orphan")[0]["isr"] == [1, 2])
            limits.tell(self, [(SLOW, {"orphan": [0]})])
            self.move("orphan", [1, 2, 4])
            wait_until("the copy to begin", lambda: self.log_bytes("orphan", 4) > 0)
            self.assertLess(self.log_bytes("orphan", 4), self.log_bytes("orphan", 1) // 4)
            limits.tell(self, [(FAST, {"orphan": [0]})])
            self.await_idle()
            self.assertEqual(self.partitions("orphan")[0]["replicas"], [1, 2, 4])
        finally:
            self.cluster.dev("start", "3")

    def test_a_limit_goes_with_the_leadership(self):
        self.start("led", (1, 2))
        limits.tell(self, [(SLOW, {"led": [0]})])
        self.move("led", [1, 2, 3])
        wait_until("the copy to begin", lambda: self.log_bytes("led", 3) > 0)
        self.cluster.dev("stop", "1")
        try:
            wait_until("broker 2 to lead", lambda: self.partitions("led")[0]["leader"] == 2)
            self.produce("led", LINES[:2000], *SMALL)
            self.assertLess(self.log_bytes("led", 3), self.log_bytes("led", 2) // 4)
            row = self.details("led", 2)
            self.assertEqual((row["throttle_rate"], row["is_leader"]), (SLOW, True))
        finally:
            self.cluster.dev("start", "1")
        limits.tell(self, [])
        self.await_idle()
        self.assertEqual(self.consume("led"), LINES + LINES[:2000])


class NextController(Limits):
    def test_s10_nothing_outlives_its_controller_or_its_broker(self):
        self.start("left")
        limits.tell(self, [(SLOW, {"left": [0]})])
        target = 3 if self.controller() != 3 else 4
        self.move("left", [target])
        wait_until("the copy to begin", lambda: self.log_bytes("left", target) > 0)
        self.assertEqual(self.details("left", target)["throttle_rate"], SLOW)
        # The target loses its table with its life, and hears the one of the controller: none.
        self.cluster.dev("kill", str(target))
        self.cluster.dev("start", str(target))
        wait_until("the target to hear nothing of limits", lambda: (self.details("left", target) or {}).get("throttle_rate") == -1)
        self.assertEqual(self.moving(), ["left"])
        # The leader keeps its own until another controller speaks.
        if self.controller() == 1:
            self.cluster.dev("stop", "1")
            self.cluster.dev("start", "1")
        else:
            dead = str(self.controller())
            self.cluster.dev("stop", dead)
            self.cluster.dev("start", dead)
        self.await_idle()
        self.assertEqual(self.consume("left"), LINES)


if __name__ == "__main__":
    unittest.main()
