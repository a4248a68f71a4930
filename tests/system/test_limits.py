"""Limits of moves with real brokers: what S10, S12, S13 and S14 of the field scenarios ask of a throttle.

That a copy is held back is seen in bytes, not in time: what is left of it would need minutes, while others beside it end.
"""

import json
import signal
import subprocess
import threading
import unittest

import configs
import limits
import queue_protocol as queue
from moves_report import Report
from support import ClusterTest, wait_until

LINES = ["line %07d %s" % (i, "payload " * 25) for i in range(60000)]  # 12 MB
SMALL = ("-X", "batch.size=16384", "-X", "compression.codec=none")
SLOW = 20000  # bytes a second: minutes for what a test has to copy
FAST = 1000000000
NO_RATE = -2


class Limits(ClusterTest):
    brokers = 4

    def ask(self, topics=None, **fields):
        """Of whoever is controller."""
        code, job, found = queue.alter(self.address(self.controller()), topics, **fields)
        self.assertEqual((code, {error for error, _ in found.values()} - {0}), (0, set()))
        return job

    def submit(self, topic, replicas, rate):
        return self.ask({topic: {0: replicas}}, action=queue.SUBMIT, rate=rate)

    def set_rate(self, job, rate):
        self.ask(action=queue.SETTINGS, job=job, rate=rate, priority=-1)

    def moving(self):
        """Sorted; asked again while the controller changes."""
        def ask():
            result = self.cluster.admin("reassign", "--list", "--json", check=False)
            return json.loads(result.stdout) if result.returncode == 0 else None
        return sorted(m["topic"] for m in wait_until("the list of moves", ask)["reassignments"])

    def await_idle(self):
        wait_until("moves to end", lambda: not self.moving())

    def start(self, topic, replicas=(1,)):
        self.create(topic, list(replicas))
        self.produce(topic, LINES, *SMALL)

    def details(self, topic, broker):
        return limits.details(self.address(broker), topic, 0)

    def await_rates(self, topic, brokers, rate):
        wait_until("rate %d of %s on brokers %s" % (rate, topic, brokers), lambda: all(
            (self.details(topic, b) or {}).get("throttle_rate") == rate for b in brokers))

    def await_copy(self, topic, broker):
        wait_until("the copy to begin", lambda: self.log_bytes(topic, broker) > 0)

    def test_a_paused_copy_waits_and_keeps_its_bytes(self):
        self.start("paused")
        self.start("beside")
        job = self.submit("paused", [3], SLOW)
        self.await_copy("paused", 3)
        self.ask(action=queue.PAUSE, job=job)
        self.await_rates("paused", (1, 3), 0)
        wait_until("the copy to be told as held", lambda: self.details("paused", 3)["is_throttled"])
        self.assertEqual(self.details("paused", 3)["error"], 0)
        copied = self.log_bytes("paused", 3)
        self.submit("beside", [3], FAST)
        wait_until("the one beside it to end", lambda: self.moving() == ["paused"])
        self.assertLess(self.log_bytes("paused", 3) - copied, 200000)  # what was on its way
        copied = self.log_bytes("paused", 3)
        self.ask(action=queue.RESUME, job=job)
        wait_until("the copy to go on", lambda: self.log_bytes("paused", 3) > copied)
        self.set_rate(job, NO_RATE)
        self.await_idle()
        self.assertEqual(self.consume("paused"), LINES)

    def test_only_replicas_that_are_added_are_held(self):
        self.start("held", (1, 2))
        job = self.submit("held", [1, 2, 3], SLOW)
        self.await_copy("held", 3)
        self.ask(action=queue.PAUSE, job=job)
        self.await_rates("held", (1, 2, 3), 0)
        more = ["more %d" % i for i in range(2000)]
        self.produce("held", more, *SMALL)  # acks=all: both members in sync follow
        self.assertEqual(self.consume("held"), LINES + more)
        # A member that was away catches up beyond any limit.
        self.cluster.dev("kill", "2")
        self.wait_isr("held", [1])
        self.produce("held", more, *SMALL)
        self.cluster.dev("start", "2")
        self.wait_isr("held", [1, 2])
        self.assertEqual(self.moving(), ["held"])
        self.assertLess(self.log_bytes("held", 3), self.log_bytes("held", 1) // 4)
        self.set_rate(job, NO_RATE)
        self.ask(action=queue.RESUME, job=job)
        self.await_idle()
        self.assertEqual(self.consume("held"), LINES + more + more)

    def held(self, topic, brokers=(1, 2, 3, 4)):
        """What is set of the brokers, and of the topic."""
        return ([configs.describe(self.address(b), configs.BROKER, str(b)) for b in brokers],
                configs.describe(self.address(brokers[0]), configs.TOPIC, topic))

    def test_s10_a_rate_needs_no_client(self):
        """The command is killed as soon as the job is accepted; the move ends in twenty seconds, and the rate with it."""
        self.start("alone", (1, 2, 3))
        rate = self.log_bytes("alone", 1) // 20
        path = self.plan({("alone", 0): [1, 2, 4]})
        with subprocess.Popen([self.cluster.klamm, "moves", "submit", path, "--yes", "--watch", "--throttle", str(rate),
                               "--bootstrap-server", self.cluster.bootstrap], stdout=subprocess.PIPE, text=True) as command:
            for line in command.stdout:
                if "moves accepted" in line or "move accepted" in line:
                    break
            command.kill()
        self.assertEqual(command.returncode, -signal.SIGKILL)
        self.await_rates("alone", (1, 2, 4), rate)
        self.assertEqual(self.held("alone"), ([{}] * 4, {}))
        self.await_idle()
        self.await_rates("alone", (1, 2, 4), -1)
        self.assertEqual(self.held("alone"), ([{}] * 4, {}))
        self.wait_replicas("alone", [1, 2, 4])
        self.assertEqual(self.consume("alone"), LINES)

    def test_s10_a_rate_lives_as_long_as_its_job(self):
        self.start("job", (1, 2))
        job = self.submit("job", [1, 2, 3], SLOW)
        self.await_rates("job", (1, 2, 3), SLOW)
        self.await_copy("job", 3)
        dead = self.controller()
        self.cluster.dev("kill", str(dead))
        try:
            wait_until("another controller", lambda: self.controller() != dead)
            self.await_rates("job", [b for b in (1, 2, 3) if b != dead], SLOW)
        finally:
            self.cluster.dev("start", str(dead))
        self.await_rates("job", (1, 2, 3), SLOW)
        self.assertEqual(self.moving(), ["job"])
        self.set_rate(job, FAST)
        self.await_idle()
        self.await_rates("job", (1, 2, 3), -1)
        self.assertEqual(self.consume("job"), LINES)

    def test_s12_settings_of_the_operator_are_not_touched(self):
        """A rate of 70 MB/s stands on all brokers and a list on the topic; a job of 20 MB/s replaces neither."""
        standing = {"leader.replication.throttled.rate": "70000000", "follower.replication.throttled.rate": "70000000"}
        lists = {"leader.replication.throttled.replicas": "*"}
        brokers = (1, 2, 3, 4)
        self.start("standing")
        for _ in range(4):
            self.produce("standing", LINES, *SMALL)
        self.assertEqual(configs.replace(self.address(1), configs.TOPIC, "standing", lists), 0)
        try:
            for broker in brokers:
                self.assertEqual(configs.replace(self.address(broker), configs.BROKER, str(broker), standing), 0)
            wait_until("the settings", lambda: self.held("standing") == ([standing] * 4, lists))
            job = self.submit("standing", [3], 20000000)
            self.await_rates("standing", (1, 3), 20000000)
            self.assertEqual(self.held("standing"), ([standing] * 4, lists))
            self.assertEqual(self.job(job)["rate"], 20000000)
            self.await_idle()
            self.assertEqual(self.held("standing"), ([standing] * 4, lists))
            verified = self.cluster.admin("moves", "status", "--plan", self.plan({("standing", 0): [3]})).stdout
            self.assertEqual(verified, "standing-0: done\n1 of 1 done\n")
            self.assertEqual(self.held("standing"), ([standing] * 4, lists))
        finally:
            for broker in brokers:
                configs.replace(self.address(broker), configs.BROKER, str(broker), {})

    def job(self, name):
        """What the controller tells of the job."""
        def look():
            found = Report(self.address(self.controller()))
            return found if found.code == 0 else None
        return wait_until("a report of the controller", look).jobs[name]

    def test_s13_a_rate_below_what_is_written_is_told_and_can_be_raised(self):
        self.start("growing")
        job = self.submit("growing", [3], 100000)
        self.await_copy("growing", 3)
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
            self.set_rate(job, FAST)
            self.await_idle()
            self.assertGreater(self.log_bytes("growing", 3), copied)
        finally:
            is_over.set()
            writer.join()
        self.wait_replicas("growing", [3])

    def test_s14_a_dead_replica_does_not_matter(self):
        self.start("orphan", (1, 2, 3))
        self.cluster.dev("kill", "3")
        try:
            self.wait_isr("orphan", [1, 2])
            self.submit("orphan", [1, 2, 4], 1000000)
            self.await_rates("orphan", (1, 2, 4), 1000000)
            self.await_copy("orphan", 4)
            self.assertLess(self.log_bytes("orphan", 4), self.log_bytes("orphan", 1))
            self.await_idle()
            self.wait_replicas("orphan", [1, 2, 4])
            self.await_rates("orphan", (1, 2, 4), -1)
        finally:
            self.cluster.dev("start", "3")

    def test_a_limit_goes_with_the_leadership(self):
        self.start("led", (1, 2))
        job = self.submit("led", [1, 2, 3], SLOW)
        self.await_copy("led", 3)
        self.cluster.dev("stop", "1")
        try:
            self.wait_leader("led", 2)
            self.produce("led", LINES[:2000], *SMALL)
            self.await_rates("led", (2, 3), SLOW)
            self.assertLess(self.log_bytes("led", 3), self.log_bytes("led", 2) // 4)
        finally:
            self.cluster.dev("start", "1")
        self.set_rate(job, NO_RATE)
        self.await_idle()
        self.assertEqual(self.consume("led"), LINES + LINES[:2000])


if __name__ == "__main__":
    unittest.main()
