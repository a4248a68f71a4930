"""Progress of moves and why they do not advance, told over the list of moves by real brokers: S03, S15, S20 and S23 of the
field scenarios, and a fault for each reason."""

import os
import re
import struct
import subprocess
import threading
import time
import unittest

import configs
from moves_report import (COPYING, DOWN, FAILED, FETCH_ERROR, HELD, MIN_ISR, NO_LEADER, NONE, PAUSED, SLOT, TARGET_DOWN,
                          THROTTLED)
from moving import LINES, LISTS, MB, SLOW, SMALL, SOME, MovingTest
from protocol import Connection, alter_body, call, compact_array, compact_text
from support import wait_until


class Writer(threading.Thread):
    """About so many bytes a second to one topic until it is stopped."""

    def __init__(self, bootstrap, topic, rate):
        super().__init__(daemon=True)
        self.piece = ("\n".join(LINES[:rate // 20 // len(LINES[0])]) + "\n").encode()
        self.is_stopped = threading.Event()
        self.process = subprocess.Popen(["kcat", "-b", bootstrap, "-t", topic, "-P", *SMALL], stdin=subprocess.PIPE)
        self.start()

    def run(self):
        while not self.is_stopped.wait(0.05):
            self.process.stdin.write(self.piece)
            self.process.stdin.flush()

    def finish(self):
        self.is_stopped.set()
        self.join()
        self.process.stdin.close()
        return self.process.wait()


class Progress(MovingTest):
    brokers = 5
    options = ("--set", "log.segment.delete.delay.ms=500", "--set", "replica.lag.time.max.ms=3000")

    def tearDown(self):
        for broker, row in self.status().items():
            if row["state"] != "running":
                self.cluster.dev("start", str(broker))
        moving = list(self.report().moves)
        if moving:
            self.cancel(*moving)

    def test_s15_a_dead_target_is_named_and_its_bytes_are_kept(self):
        one, two, three, four = [b for b in range(1, 6) if b != self.controller()]
        self.create("dies", [one, two], [one, two])
        self.produce("dies", LINES, "-p", "0", *SMALL)
        self.produce("dies", SOME, "-p", "1", *SMALL)
        started = time.time() * 1000
        self.start_moves({("dies", 0): [two, three], ("dies", 1): [two, four]}, "--throttle", str(5 * MB))
        wait_until("37 MB", lambda: self.log_bytes("dies", three) >= 37 * MB)
        self.start_moves({("dies", 0): [two, three]}, *SLOW)
        move = self.wait_move("dies", "all that was copied", lambda m: m["copied"] == self.log_bytes("dies", three))
        self.assertLess(move["copied"], move["to_copy"])
        self.assertAlmostEqual(move["to_copy"], self.log_bytes("dies", one), delta=MB)
        self.assertEqual(move["original"], [one, two])
        self.assertGreater(move["started_ms"], started - 2000)
        self.assertLess(move["started_ms"], time.time() * 1000)
        killed = time.time() * 1000
        self.cluster.dev("kill", str(three))
        dead = self.wait_reason("dies", TARGET_DOWN)
        self.assertEqual(dead["adding"][three]["state"], DOWN)
        self.assertEqual(dead["adding"][three]["reason"], TARGET_DOWN)
        self.assertGreater(dead["since_ms"], killed - 2000)
        self.assertLessEqual(dead["since_ms"], time.time() * 1000)
        self.assertLessEqual(move["copied"], dead["copied"])
        self.assertLessEqual(dead["copied"], self.log_bytes("dies", three))
        self.assertEqual(dead["to_copy"], move["to_copy"])
        self.assertEqual((dead["started_ms"], dead["eta_ms"]), (move["started_ms"], -1))
        self.assertGreaterEqual(dead["copied"], 37 * MB)
        shown = self.cluster.admin("moves", "status", "--partition", "dies-0").stdout
        self.assertIn("waiting for broker %d, down since " % three, shown)
        self.assertRegex(shown, r"dies-0 .* (3[7-9]|[4-9]\d)\.\d MB +102 MB")
        wait_until("partition 1 to end all the same", lambda: self.move("dies", 1) is None)
        self.cluster.dev("start", str(three))
        back = self.wait_reason("dies", NONE)
        self.assertGreaterEqual(self.log_bytes("dies", three), move["copied"] - MB)  # what was not on the disk may be copied again
        self.assertGreaterEqual(back["copied"], move["copied"])
        self.cluster.dev("kill", str(three))
        self.wait_reason("dies", TARGET_DOWN)
        self.cancel(("dies", 0))
        self.assertIsNone(self.move("dies"))
        self.wait_told("the list of before", "dies", lambda told: told and told[0].replicas == [one, two])

    def test_s03_the_same_target_again_is_the_same_move(self):
        """Asked again after 30 MB, also by somebody whose connection is cut before the answer."""
        self.create("again", [1, 2, 3])
        self.produce("again", LINES, *SMALL)
        self.start_moves({("again", 0): [1, 2, 4]}, "--throttle", str(5 * MB))
        wait_until("30 MB", lambda: self.log_bytes("again", 4) >= 30 * MB)
        self.start_moves({("again", 0): [1, 2, 4]}, *SLOW)
        before = self.wait_move("again", "30 MB to be told", lambda m: m["copied"] >= 30 * MB)
        self.assertLess(before["copied"], before["to_copy"])
        for _ in range(2):
            connection = Connection(self.address(self.controller()))
            connection.send(45, 0, alter_body({"again": {0: [1, 2, 4]}}), True)
            connection.socket.close()
            self.start_moves({("again", 0): [1, 2, 4]}, "--additional")
            after = self.move("again")
            self.assertEqual(after["started_ms"], before["started_ms"])
            self.assertGreaterEqual(after["copied"], before["copied"])
            self.assertEqual((after["replicas"], list(after["adding"])), ([1, 2, 4, 3], [4]))
            before = after
        self.assertEqual(len([tp for tp in self.report().moves if tp[0] == "again"]), 1)

    def test_who_does_not_ask_gets_kafkas_bytes(self):
        self.create("stock", [1, 2])
        self.produce("stock", SOME, *SMALL)
        self.start_moves({("stock", 0): [2, 3]}, *SLOW)
        self.wait_move("stock", "the first bytes", lambda m: m["copied"] > 0)
        ask = struct.pack(">i", 30000) + compact_array([compact_text("stock") + compact_array([struct.pack(">i", 0)]) + b"\0"])
        lists = [compact_array([struct.pack(">i", b) for b in ids]) for ids in ([2, 3, 1], [3], [1])]
        rows = compact_array([struct.pack(">i", 0) + b"".join(lists) + b"\0"])
        expected = struct.pack(">ih", 0, 0) + compact_text("") + compact_array([compact_text("stock") + rows + b"\0"]) + b"\0"
        answer = call(self.address(self.controller()), 46, 0, ask + b"\0", True)
        self.assertEqual(answer.data[answer.at:], expected)

    def test_a_move_that_copies_tells_its_rate_and_time_left(self):
        self.create("runs", [1, 2])
        self.produce("runs", LINES[:60000], *SMALL)
        self.start_moves({("runs", 0): [3, 2]}, "--additional", "--throttle", str(3 * MB))
        move = self.wait_move("runs", "a rate", lambda m: m["rate"] > 0 and m["eta_ms"] > 0)
        self.assertEqual(move["reason"], NONE)
        self.assertEqual(move["adding"][3]["state"], COPYING)
        self.assertGreater(move["adding"][3]["lag_bytes"], 0)
        copied = move["copied"]
        self.let_go("runs", 1)
        while move is not None:
            self.assertGreaterEqual(move["copied"], copied)
            self.assertGreaterEqual(move["to_copy"], move["copied"])
            copied = move["copied"]
            move = self.move("runs")

    def test_a_leader_that_is_gone_is_a_reason(self):
        self.create("headless", [1])
        self.produce("headless", SOME, *SMALL)
        self.start_moves({("headless", 0): [2]}, *SLOW)
        self.wait_move("headless", "the first bytes", lambda m: m["copied"] > 0)
        self.cluster.dev("kill", "1")
        move = self.wait_reason("headless", NO_LEADER)
        self.assertEqual(move["adding"][2]["reason"], NO_LEADER)
        self.cluster.dev("start", "1")
        self.wait_reason("headless", NONE)
        self.let_go("headless", 2)
        self.wait_end("headless")
        self.assertEqual(self.consume("headless"), SOME)

    def test_too_few_in_sync_is_a_reason(self):
        """Brokers 2 and 3 come back to a log that they may not fetch; the move waits for 2."""
        self.create("few", [1, 2, 3])
        for broker in (2, 3):
            self.assertEqual(configs.replace(self.address(broker), configs.BROKER, str(broker),
                                             {"follower.replication.throttled.rate": "1"}), 0)
            self.cluster.dev("stop", str(broker))
        self.wait_isr("few", [1])
        self.produce("few", SOME, *SMALL)
        held = {"min.insync.replicas": "2", LISTS[1]: "0:2,0:3"}
        self.assertEqual(configs.replace(self.address(1), configs.TOPIC, "few", held), 0)
        self.cluster.dev("start", "2")
        self.cluster.dev("start", "3")
        self.start_moves({("few", 0): [1, 2]}, "--additional")
        move = self.wait_reason("few", MIN_ISR)
        self.assertEqual(move["adding"], {})
        self.let_go("few", 1)
        for broker in (2, 3):
            self.assertEqual(configs.replace(self.address(broker), configs.BROKER, str(broker), {}), 0)
        self.wait_end("few")
        self.wait_replicas("few", [1, 2])

    def test_records_that_cannot_be_copied_are_a_reason(self):
        """A byte of the leader's log is wrong: the target refuses what it gets, until the byte is right again."""
        self.create("broken", [1])
        self.produce("broken", SOME, *SMALL)
        folder = os.path.join(self.status()[1]["directory"], "broken-0")
        path = os.path.join(folder, min(name for name in os.listdir(folder) if name.endswith(".log")))
        with open(path, "r+b") as log:
            log.seek(os.path.getsize(path) // 2)
            byte = log.read(1)
            log.seek(-1, os.SEEK_CUR)
            log.write(bytes([byte[0] ^ 1]))
            log.flush()
            self.start_moves({("broken", 0): [2]})
            move = self.wait_reason("broken", FETCH_ERROR)
            self.assertEqual(move["adding"][2]["reason"], FETCH_ERROR)
            self.assertEqual(move["adding"][2]["state"], FAILED)
            self.assertNotEqual(move["error"], 0)
            self.assertEqual(move["adding"][2]["error"], move["error"])
            log.seek(-1, os.SEEK_CUR)
            log.write(byte)
        self.wait_end("broken")
        self.assertEqual(self.consume("broken"), SOME)

    def test_a_burst_of_writes_is_no_reason(self):
        """Much more than the throttle is written in a second: the mean of the last ones is above it for a while."""
        self.create("burst", [1, 2])
        self.produce("burst", SOME, *SMALL)
        self.start_moves({("burst", 0): [1, 3]}, *SLOW)
        self.wait_move("burst", "the copy", lambda m: m["copied"] > 0)
        self.produce("burst", SOME, *SMALL)
        end = time.monotonic() + 15

        def is_over():
            self.assertEqual(self.move("burst")["reason"], NONE)
            return time.monotonic() > end
        wait_until("the burst to be forgotten", is_over)

    def test_s13_a_throttle_below_the_writes_is_a_reason(self):
        """2 MB/s are written; 1 MB/s may pass, then 5."""
        self.create("s13", [1, 2])
        self.produce("s13", LINES[:20000], *SMALL)
        writer = Writer(self.cluster.bootstrap, "s13", 2 * MB)
        try:
            plan = self.plan({("s13", 0): [1, 3]})
            # Both sides count in bytes of their own: what is written is a little less on a machine that is busy.
            wait_until("a warning with both numbers", lambda: re.search(
                r"s13-0 will not converge: incoming [12]\.\d MB/s over limit 1\.0 MB/s",
                "".join(self.dry_run(plan, "--throttle", str(MB)))))
            self.submit("s13", {("s13", 0): [1, 3]}, "--throttle", str(MB))
            move = self.wait_reason("s13", THROTTLED)
            self.assertEqual(move["eta_ms"], -1)
            self.assertEqual(move["adding"][3]["reason"], THROTTLED)
            wait_until("both numbers", lambda: re.search(
                r"s13-0 .* - +s13 +not converging, incoming [12]\.\d MB/s over limit 1\.0 MB/s",
                self.cluster.admin("moves", "status", "--partition", "s13-0").stdout))
            self.cluster.admin("moves", "set", "--job", "s13", "--throttle", str(5 * MB))
            after = self.wait_move("s13", "a time left", lambda m: m["reason"] == NONE and m["eta_ms"] >= 0)
            self.assertGreaterEqual(after["copied"], move["copied"])
            self.assertEqual(after["started_ms"], move["started_ms"])
            self.wait_end("s13")
        finally:
            self.assertEqual(writer.finish(), 0)

    def dry_run(self, plan, *options):
        result = self.cluster.admin("moves", "submit", plan, "--dry-run", *options)
        return result.stdout, result.stderr

    def submit(self, job, entries, *options):
        self.cluster.admin("moves", "submit", self.plan(entries), "--yes", "--job", job, "--rollback",
                           os.path.join(self.cluster.root, job + ".json"), *options)

    def test_a_move_without_a_slot_waits_for_one(self):
        """Four moves into a broker at a time: the others are listed as waiting."""
        self.create("slots", *[[1]] * 6)
        for partition in range(6):
            self.produce("slots", SOME[:1000], "-p", str(partition), *SMALL)
        self.submit("slots", {("slots", p): [2] for p in range(6)}, "--throttle", "10000")
        report = wait_until("four to run and two to wait", lambda: [r for r in [self.report()] if len(r.moves) == 4 and all(
            waiting["reason"] == SLOT for waiting in r.queued.values())])[0]
        self.assertEqual(len(report.queued), 2)
        for move in report.moves.values():
            self.assertEqual((move["job"], move["submitted_by"]), ("slots", "User:ANONYMOUS"))
            self.assertNotEqual(move["client_id"], "")
        for waiting in report.queued.values():
            self.assertEqual((waiting["target"], waiting["job"], waiting["reason"]), ([2], "slots", SLOT))
            self.assertGreater(waiting["since_ms"], 0)
        self.assertEqual((report.jobs["slots"]["total"], report.jobs["slots"]["done"]), (6, 0))
        shown = self.cluster.admin("moves", "status").stdout
        self.assertRegex(shown, r"slots-\d .*waiting for a slot since 2")
        self.assertIn("klamm moves limits --in-per-broker", shown)
        self.cluster.admin("moves", "set", "--job", "slots", "--throttle", "none")
        wait_until("all to end", lambda: self.report().jobs["slots"]["done"] == 6)
        self.assertEqual((self.report().moves, self.report().queued), ({}, {}))

    def test_the_bytes_of_a_job_add_up(self):
        """They never go down, also when moves end, and are those of all moves in the end, of quick ones too."""
        self.create("summed", *[[1]] * 6)
        for partition in range(6):
            self.produce("summed", SOME[:1000 if partition > 0 else 4000], "-p", str(partition), *SMALL)
        whole = sum(self.log_bytes("summed", 1, partition) for partition in range(6))
        self.submit("summed", {("summed", p): [2] for p in range(6)}, "--throttle", str(MB))
        seen = [{"copied": 0, "to_copy": 0, "done": 0}]

        def is_over():
            job = self.report().jobs["summed"]
            self.assertGreaterEqual(job["copied"], seen[-1]["copied"])
            self.assertGreaterEqual(job["to_copy"], seen[-1]["to_copy"])
            self.assertGreaterEqual(job["to_copy"], job["copied"])
            seen.append(job)
            return job["done"] == 6 and job["copied"] == job["to_copy"] == whole
        wait_until("all to be counted", is_over)
        self.assertTrue(any(0 < job["copied"] < whole for job in seen))
        self.submit("summed-back", {("summed", p): [1] for p in range(6)})  # at full speed
        wait_until("the way back to be counted", lambda: [job for job in [self.report().jobs["summed-back"]] if (
            job["done"], job["copied"]) == (6, whole)])
        history = self.cluster.admin("moves", "history").stdout
        self.assertRegex(history, r"summed-back +done .* 6 of 6 +(\d+\.\d MB) +\1 ")

    def test_a_paused_move_says_so_and_keeps_its_bytes(self):
        self.create("paused", [1])
        self.produce("paused", SOME, *SMALL)
        self.submit("paused", {("paused", 0): [2]}, "--throttle", "100000")
        before = self.wait_move("paused", "the first bytes", lambda m: m["copied"] > 0)
        self.cluster.admin("moves", "pause", "--partition", "paused-0")
        move = self.wait_reason("paused", PAUSED)
        self.assertEqual((move["adding"][2]["state"], move["adding"][2]["reason"], move["eta_ms"]), (HELD, PAUSED, -1))
        self.assertGreaterEqual(move["copied"], before["copied"])
        self.cluster.admin("moves", "resume", "--partition", "paused-0")
        after = self.wait_move("paused", "the end of the pause", lambda m: m["reason"] != PAUSED)
        self.assertGreaterEqual(after["copied"], move["copied"])
        self.assertEqual(after["started_ms"], before["started_ms"])
        self.cluster.admin("moves", "set", "--job", "paused", "--throttle", "none")
        self.wait_end("paused")
        self.assertEqual(self.consume("paused"), SOME)

    def test_a_move_to_a_broker_that_is_down_waits_in_the_queue(self):
        self.create("known", [5, 1])  # or nobody would believe that there is a broker 5
        self.create("later", [1])
        self.produce("later", SOME, *SMALL)
        self.cluster.dev("kill", "5")
        self.wait_gone(5)
        self.submit("later", {("later", 0): [5]}, "--allow-down-targets")
        waiting = wait_until("the reason", lambda: [row for tp, row in self.report().queued.items()
                                                    if tp == ("later", 0) and row["reason"] == TARGET_DOWN])[0]
        self.assertGreater(waiting["since_ms"], (time.time() - 60) * 1000)
        self.wait_shown("later", TARGET_DOWN)
        self.cluster.dev("start", "5")
        wait_until("it to end", lambda: self.report().jobs["later"]["done"] == 1)
        self.assertEqual(self.consume("later"), SOME)

    def test_s32_a_plan_is_compared_with_what_somebody_else_asked_for(self):
        self.create("overridden", [1, 2, 3], [1, 2, 3], [1, 2, 3])
        self.produce("overridden", SOME, "-p", "0", *SMALL)
        plan = self.plan({("overridden", 0): [1, 2, 4], ("overridden", 3): [1, 2, 4]})
        self.start_moves({("overridden", 0): [1, 2, 4]}, *SLOW)
        self.wait_move("overridden", "the first look", lambda m: m["adding"][4]["state"] == COPYING)
        self.start_moves({("overridden", 0): [1, 2, 5]}, "--additional")
        self.assertEqual(self.cluster.admin("moves", "status", "--plan", plan).stdout,
                         "overridden-0: other target active [1,2,5]\noverridden-3: does not exist\n0 of 2 done\n")
        self.assertEqual(list(self.move("overridden")["adding"]), [5])

    def test_s20_moving_is_told_apart(self):
        self.create("moved", [1, 2, 3])
        self.create("grown", [1, 2, 3])
        for topic, row in (("moved", [1, 2, 4]), ("grown", [1, 2, 3, 4])):
            self.produce(topic, SOME, *SMALL)
            self.start_moves({(topic, 0): row}, *SLOW)
        for topic in ("moved", "grown"):
            self.wait_move(topic, "the copy", lambda m: m["adding"][4]["state"] == COPYING and m["reason"] == NONE)
            self.assertFalse(self.partitions(topic)[0]["under_replicated"])


if __name__ == "__main__":
    unittest.main()
