"""Why a move does not advance, where brokers have to be stopped in the middle of something or controllers have to change:
real processes and a real ZooKeeper."""

import re
import subprocess
import time
import unittest

from moves_report import NONE, OLD_REPLICAS, PAUSED, SLOT, TARGET_DOWN, TEXTS
from servers import KLAMM, ServerTest
from support import ClusterTest, wait_until

MB = 1000000
LINES = ["line %07d %s" % (i, "payload " * 120) for i in range(20000)]  # 20 MB
SMALL = ("-X", "batch.size=16384", "-X", "compression.codec=none")


class ReasonsTest(ServerTest):
    def wait_reason(self, topic, reason):
        return wait_until("reason %d of %s" % (reason, topic), lambda: [
            move for move in [self.report().moves.get((topic, 0))] if move and move["reason"] == reason])[0]

    def check_shown(self, topic, reason):
        text, command = TEXTS[reason]
        shown = self.cluster.admin("moves", "status").stdout
        self.assertRegex(shown, "%s-0 .*%s.* since 2" % (topic, text.removesuffix(" since")))
        self.assertIn(command, shown)

    def submit(self, job, entries, *options):
        """entries: {topic: replicas of its partition 0}."""
        plan = ClusterTest.plan(self, {(topic, 0): replicas for topic, replicas in entries.items()})
        self.cluster.admin("moves", "submit", plan, "--yes", "--job", job, "--rollback", plan + ".rollback", *options)

    def end(self, job):
        self.cluster.admin("moves", "set", "--job", job, "--throttle", "none", check=False)  # it may have ended
        wait_until(job + " to end", lambda: self.report().jobs[job]["done"] == self.report().jobs[job]["total"])


class Stopping(ReasonsTest):
    brokers = 4
    settings = {"replica.lag.time.max.ms": 180000}  # longer than anything is stopped

    def test_a_new_leader_that_does_not_answer_keeps_old_replicas(self):
        """[a,b] -> [c,d]: c is in sync and is stopped, then d joins; c is to lead, and nobody hears that it does."""
        active = self.active()
        c, d, b = [broker for broker in self.cluster.servers if broker != active]
        a = active
        self.create("stopping", [a, b])
        self.produce("stopping", LINES[:1000], *SMALL)
        self.hold(d)
        self.execute("stopping", [c, d])
        self.wait_isr("stopping", [a, b, c])
        self.cluster.servers[c].pause()
        began = time.time() * 1000
        self.cluster.servers[d].resume()
        move = self.wait_reason("stopping", OLD_REPLICAS)
        self.assertGreater(move["since_ms"], began - 1000)
        self.assertLessEqual(move["since_ms"], time.time() * 1000)
        self.assertEqual(move["copied"], move["to_copy"])
        self.assertEqual(self.state("stopping")["leader"], c)
        self.assertEqual(self.folders("stopping"), {a, b, c, d})
        self.check_shown("stopping", OLD_REPLICAS)
        again = self.wait_reason("stopping", OLD_REPLICAS)
        self.assertEqual(again["since_ms"], move["since_ms"])
        self.cluster.servers[c].resume()
        self.wait_idle("stopping")
        self.wait_isr("stopping", [c, d])
        wait_until("old replicas gone", lambda: self.folders("stopping") == {c, d})
        self.assertEqual(self.consume("stopping"), LINES[:1000])

    def test_s40_a_controller_that_is_slow_is_waited_for(self):
        """For thirty seconds it does nothing: the command says what it waits for, and then all is accepted."""
        active = self.active()
        a, b, c = [broker for broker in self.cluster.servers if broker != active]
        self.create("s40", [a, b])
        plan = ClusterTest.plan(self, {("s40", 0): [a, c]})
        self.cluster.servers[active].pause()
        began = time.monotonic()
        with subprocess.Popen([KLAMM, "moves", "submit", plan, "--yes", "--bootstrap-server", self.cluster.bootstrap],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
            told = next((line for line in command.stderr if "the controller has not answered" in line), None)
            wait_until("thirty seconds", lambda: time.monotonic() - began >= 30)
            is_waiting = command.poll() is None
            self.cluster.servers[active].resume()
            out, err = command.communicate(timeout=60)
        self.assertIsNotNone(told)
        self.assertTrue(is_waiting, out + err)
        self.assertEqual(command.returncode, 0, out + err)
        self.assertIn("1 move accepted", out)
        self.assertNotIn("rror", err)
        self.wait_idle("s40")
        self.wait_replicas("s40", [a, c])


class Elections(ReasonsTest):
    """What is told of moves outlives the controller."""

    brokers = 4

    def others(self):
        active = self.active()
        return [broker for broker in self.cluster.servers if broker != active]

    def test_since_when_outlives_the_controller(self):
        a, target, b = self.others()
        self.create("down", [a])
        self.create("held", [a])
        self.create("queued", [a])
        self.create("running", [a])  # it has the only slot: what moves to a dead broker takes none
        for topic in ("down", "held", "queued", "running"):
            self.produce(topic, LINES[:4000], *SMALL)
        self.submit("running", {"running": [b]}, "--throttle", "10000")
        self.submit("down", {"down": [target]}, "--throttle", "20000")
        self.submit("held", {"held": [b]}, "--throttle", "20000")
        self.cluster.admin("moves", "pause", "--job", "held")
        self.cluster.admin("moves", "limits", "--per-cluster", "1")
        self.addCleanup(self.cluster.admin, "moves", "limits", "--per-cluster", "none")
        self.submit("queued", {"queued": [b]})
        wait_until("the first bytes", lambda: self.report().moves["down", 0]["copied"] > 0)
        self.cluster.kill(target)
        before = {"down": self.wait_reason("down", TARGET_DOWN), "held": self.wait_reason("held", PAUSED)}
        waits = self.report().queued["queued", 0]
        self.assertEqual(waits["reason"], SLOT)
        wait_until("the since to be kept", lambda: "@%d.0.%d" % (TARGET_DOWN, before["down"]["since_ms"]) in
                   self.cluster.znode("/klamm/moves/down:0")["config"]["0"])
        killed = self.kill_active()
        after = {"down": self.wait_reason("down", TARGET_DOWN), "held": self.wait_reason("held", PAUSED)}
        for topic, move in after.items():
            self.assertEqual(move["since_ms"], before[topic]["since_ms"], topic)
            self.assertEqual(move["started_ms"], before[topic]["started_ms"], topic)
        self.assertEqual(after["down"]["copied"], before["down"]["copied"])
        again = self.report().queued["queued", 0]
        self.assertEqual(again["reason"], SLOT)
        self.assertAlmostEqual(again["since_ms"], waits["since_ms"], delta=1000)
        self.check_shown("down", TARGET_DOWN)
        for broker in (killed, target):
            self.cluster.servers[broker].start()
            self.cluster.servers[broker].wait_ready()
        self.wait_reason("down", NONE)
        self.cluster.admin("moves", "limits", "--per-cluster", "none")
        self.cluster.admin("moves", "resume", "--job", "held")
        for job in ("down", "held", "running", "queued"):
            self.end(job)
            self.assertEqual(self.consume(job), LINES[:4000])

    def test_what_a_controller_had_copied_to_itself_is_known(self):
        """The broker that dies is target and controller: nobody else knows how far it was."""
        target = self.active()
        source = self.others()[0]
        self.create("own", [source])
        self.produce("own", LINES, *SMALL)
        self.submit("own", {"own": [target]}, "--throttle", str(2 * MB))
        began = time.time() * 1000

        def kept():
            node = self.cluster.znode("/klamm/moves/own:0")
            words = node["config"]["0"].split() if node else []
            return [int(re.split("[:@]", word)[1]) for word in words if word.startswith("%d:" % target)]
        wait_until("5 MB", lambda: max(kept(), default=0) >= 5 * MB)
        self.cluster.kill(target)
        least = kept()[0]
        move = wait_until("the size of the leader's log", lambda: [
            m for m in [self.wait_reason("own", TARGET_DOWN)] if m["to_copy"] > m["copied"]])[0]
        self.assertGreaterEqual(move["copied"], least)
        self.assertGreater(move["since_ms"], began)
        self.assertGreaterEqual(self.report().jobs["own"]["to_copy"], self.report().jobs["own"]["copied"])
        self.cluster.servers[target].start()
        back = self.wait_reason("own", NONE)
        self.assertGreaterEqual(back["copied"], least)
        self.end("own")
        self.assertEqual(self.consume("own"), LINES)

    def test_the_bytes_of_a_job_outlive_the_controller(self):
        a, b, target = self.others()
        for topic in ("first", "second"):
            self.create(topic, [a])
        self.produce("first", LINES[:2000], *SMALL)
        self.produce("second", LINES, *SMALL)
        self.submit("both", {"first": [b], "second": [target]}, "--throttle", str(MB))
        wait_until("the first move to end", lambda: self.report().jobs["both"]["done"] == 1)
        before = wait_until("the bytes of the second", lambda: [
            job for job in [self.report().jobs["both"]] if job["to_copy"] >= 20 * MB and job["copied"] > 4 * MB])[0]
        wait_until("its end to be kept", lambda: "known" in (self.cluster.znode("/klamm/jobs/both/0") or {}))
        killed = self.kill_active()
        after = wait_until("the bytes to be heard of again", lambda: [
            job for job in [self.report().jobs["both"]] if job["copied"] >= before["copied"]])[0]
        self.assertGreaterEqual(after["to_copy"], before["to_copy"])
        self.cluster.servers[killed].start()
        self.end("both")
        last = self.report().jobs["both"]
        self.assertEqual(last["copied"], last["to_copy"])
        self.assertGreaterEqual(last["to_copy"], after["to_copy"])


if __name__ == "__main__":
    unittest.main()
