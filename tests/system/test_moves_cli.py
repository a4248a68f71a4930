"""klamm moves against brokers: submit, status, pause, resume, set, cancel, undo, history; S04, S07, S13, S15 and S32.

A move that does not end is made with a target whose sockets are closed while its session lives: it counts as a live
broker, and never gets in sync.
"""

import json
import os
import signal
import subprocess
import unittest

import configs
from support import BUILD, DEADLINE_SECONDS, ClusterTest, wait_until

LINES = ["line %06d %s" % (i, "payload " * 20) for i in range(2000)]


class MovesTest(ClusterTest):
    brokers = 6

    def moves(self, action, *arguments):
        result = self.cluster.admin("moves", action, *arguments, check=False)
        return result.returncode, result.stdout, result.stderr

    def submit(self, moves, *options):
        """Submits without a question; returns the job's name."""
        path = self.plan(moves)
        status, out, err = self.moves("submit", path, "--yes", "--json", *options)
        self.assertEqual(status, 0, out + err)
        answer = json.loads(out)
        self.assertEqual({r["code"] for r in answer["results"]}, {0})
        return answer["job"], path.replace(".json", ".rollback.json")

    def status_of(self, *arguments):
        """What `klamm moves status` tells: ({job: row}, {(topic, partition): row})."""
        status, out, err = self.moves("status", "--json", *arguments)
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertTrue(told["has_queue"])
        return ({job["id"]: job for job in told["jobs"]},
                {(move["topic"], move["partition"]): move for move in told["moves"]})

    def wait_state(self, topic, partition, state):
        def look():
            row = self.status_of()[1].get((topic, partition))
            return row if row and row["state"] in state else None
        return wait_until("%s-%d to be %s" % (topic, partition, state), look)


class Moves(MovesTest):
    options = ("--session-timeout-ms", "600000")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        controller = [line.split()[0] for line in cls.cluster.dev("status").stdout.splitlines() if " yes " in line]
        cls.silent = max(set(range(1, 7)) - {int(controller[0])})
        cls.live = [b for b in range(1, 7) if b != cls.silent]
        cls.cluster.dev("kill", str(cls.silent))

    def tearDown(self):
        self.moves("cancel", "--all")
        wait_until("nothing to move", lambda: not self.status_of()[1])

    def test_a_plan_runs_and_is_undone(self):
        a, b, c, d = self.live[:4]
        self.create("whole", [a, b], [a, b])
        self.produce("whole", LINES)
        path = self.plan({("whole", 0): [c, d], ("whole", 1): [c, b]})
        status, out, err = self.moves("submit", path, "--dry-run", "--throttle", "50MB")
        self.assertEqual(status, 0, err)
        self.assertIn("Plan: 2 partitions, 2 to change\n", out)
        self.assertIn("Time: at least ", out)
        self.wait_replicas("whole", [a, b], [a, b])
        status, out, err = self.moves("submit", path, "--yes", "--watch", "--throttle", "50MB", "--job", "whole-1")
        self.assertEqual(status, 0, out + err)
        self.assertIn("Job whole-1: 2 moves accepted", out)
        self.assertIn("whole-0  done\n", out)
        self.wait_replicas("whole", [c, d], [c, b])
        rollback = path.replace(".json", ".rollback.json")
        with open(rollback, encoding="utf-8") as file:
            self.assertEqual([(p["partition"], p["replicas"]) for p in json.load(file)["partitions"]],
                             [(0, [a, b]), (1, [a, b])])
        self.assertEqual(self.moves("status", "--plan", path)[1], "whole-0: done\nwhole-1: done\n2 of 2 done\n")
        jobs = json.loads(self.moves("history", "--json")[1])["jobs"]
        job = next(j for j in jobs if j["id"] == "whole-1")
        self.assertEqual((job["state"], job["moves"], job["moves_done"]), ("done", 2, 2))
        status, out, err = self.moves("undo", rollback, "--yes", "--watch")
        self.assertEqual(status, 0, out + err)
        self.assertIn("To cancel: 0; to move back: 2\n", out)
        self.wait_replicas("whole", [a, b], [a, b])
        self.assertEqual(sorted(self.consume("whole")), sorted(LINES))

    def test_s13_a_throttled_job_is_let_go_in_flight(self):
        a, b, c = self.live[:3]
        self.create("slow", [a, b])
        self.produce("slow", LINES, "-X", "batch.size=16384", "-X", "compression.codec=none")
        job, _ = self.submit({("slow", 0): [a, c]}, "--throttle", "2000")
        row = self.wait_state("slow", 0, ("copying", "waiting"))
        self.assertEqual((row["job"], self.status_of()[0][job]["rate"]), (job, 2000))
        row = wait_until("bytes to copy", lambda: next((m for m in self.status_of("--job", job)[1].values()
                                                        if m["bytes_to_copy"] > 0), None))
        self.assertLess(row["bytes_copied"], row["bytes_to_copy"])
        self.assertEqual(self.partitions("slow")[0]["adding"], [c])
        self.assertEqual(self.moves("set", "--job", job, "--throttle", "none")[0], 0)
        self.wait_replicas("slow", [a, c])
        self.assertEqual(sorted(self.consume("slow")), sorted(LINES))

    def test_new_replicas_come_one_at_a_time(self):
        a, b, c, d = self.live[:4]
        self.create("steps", [a, b])
        self.produce("steps", LINES)
        path = self.plan({("steps", 0): [c, d]})
        status, out, err = self.moves("submit", path, "--yes", "--one-at-a-time", "--watch", "--interval", "100")
        self.assertEqual(status, 0, out + err)
        self.wait_replicas("steps", [c, d])
        self.assertEqual(self.moves("undo", path.replace(".json", ".rollback.json"), "--yes", "--watch")[0], 0)
        self.wait_replicas("steps", [a, b])

    def test_pause_keeps_and_resume_goes_on(self):
        a, b, c, d = self.live[:4]
        self.create("held", [a, b], [a, b])
        self.submit({("held", 0): [a, self.silent], ("held", 1): [b, self.silent]})
        self.wait_state("held", 0, ("copying", "waiting"))
        self.assertEqual(self.moves("pause", "--partition", "held-0")[:2], (0, "1 paused\n"))
        self.wait_state("held", 0, ("paused",))
        self.assertNotEqual(self.wait_state("held", 1, ("copying", "waiting"))["reason"], 10)
        self.assertEqual(self.moves("pause", "--topic", "held")[0], 0)
        self.wait_state("held", 1, ("paused",))
        self.assertEqual(self.moves("resume", "--topic", "held")[0], 0)
        self.wait_state("held", 0, ("copying", "waiting"))
        self.assertEqual(self.moves("cancel", "--topic", "held")[:2], (0, "2 cancelled\n"))
        self.wait_replicas("held", [a, b], [a, b])

    def test_more_than_fits_waits_for_a_slot(self):
        a, b, c = self.live[:3]
        self.create("many", *([[a, b]] * 6))
        job, _ = self.submit({("many", p): [a, self.silent] for p in range(6)}, "--priority", "drain")

        def look():
            rows = [m for m in self.status_of("--job", job)[1].values() if m["state"] == "queued"]
            return rows if len(rows) == 2 else None
        queued = wait_until("four to run and two to wait", look)
        self.assertEqual({m["why"].split(" since ")[0] for m in queued}, {"waiting for a slot"})
        row = self.status_of()[0][job]
        self.assertEqual((row["moves"], row["priority"], row["rate"]), (6, "drain", -1))
        self.assertEqual(self.moves("set", "--job", job, "--throttle", "20MB")[:2], (0, "Job %s is changed.\n" % job))
        self.assertEqual(self.status_of()[0][job]["rate"], 20000000)
        self.assertEqual(self.moves("cancel", "--job", job)[:2], (0, "6 cancelled\n"))
        self.wait_replicas("many", *([[a, b]] * 6))
        self.assertIn(job, [j["id"] for j in json.loads(self.moves("history", "--json")[1])["jobs"]])

    def test_limits_hold_for_all(self):
        a, b = self.live[:2]
        self.create("limited", [a, b], [a, b])
        self.assertEqual(self.moves("limits", "--per-cluster", "1")[:2], (0, "The limits are changed.\n"))
        try:
            self.wait_settings(configs.BROKER, "", {"klamm.moves.max.per.cluster": "1"})
            self.assertEqual(json.loads(self.moves("limits", "--json")[1])["per_cluster"], 1)
            job, _ = self.submit({("limited", 0): [a, self.silent], ("limited", 1): [b, self.silent]})
            wait_until("one to run", lambda: sorted(m["is_running"] for m in self.status_of("--job", job)[1].values())
                       == [False, True])
        finally:
            self.assertEqual(self.moves("limits", "--per-cluster", "none")[0], 0)
        wait_until("both to run", lambda: [m["is_running"] for m in self.status_of("--job", job)[1].values()]
                   == [True, True])

    def test_moves_of_a_broker_are_cancelled(self):
        a, b, c = self.live[:3]
        self.create("broker", [a, b], [a, b])
        self.submit({("broker", 0): [a, b, self.silent], ("broker", 1): [a, self.silent]}, "--allow-factor-change")
        self.wait_state("broker", 0, ("copying", "waiting"))
        self.wait_state("broker", 1, ("copying", "waiting"))
        self.assertEqual(self.moves("cancel", "--broker", "99")[0], 1)
        status, out, err = self.moves("cancel", "--broker", str(self.silent))
        self.assertEqual((status, out), (0, "2 cancelled\n"), err)
        self.wait_replicas("broker", [a, b], [a, b])

    def test_s04_a_cancel_tells_idle_from_unknown(self):
        a, b, c = self.live[:3]
        self.create("mixed", [a, b, c], [a, b, c])
        self.submit({("mixed", 0): [a, b, self.silent]})
        self.wait_state("mixed", 0, ("copying", "waiting"))
        partitions = [w for name in ("mixed-0", "mixed-1", "mixed-9", "ghost-0") for w in ("--partition", name)]
        self.assertEqual(self.moves("cancel", *partitions), (1, "1 cancelled, 1 was not moving, 2 unknown\n", ""))
        self.wait_replicas("mixed", [a, b, c], [a, b, c])

    def test_s32_another_target_is_told(self):
        a, b, c, d = self.live[:4]
        self.create("other", [a, b, c])
        self.submit({("other", 0): [a, b, self.silent]})
        self.wait_state("other", 0, ("copying", "waiting"))
        path = self.plan({("other", 0): [a, b, d], ("other", 3): [a, b, c]})
        status, out, _ = self.moves("status", "--plan", path)
        self.assertEqual((status, out), (0, "other-0: other target active [%d,%d,%d]\nother-3: does not exist\n"
                                            "0 of 2 done\n" % (a, b, self.silent)))

    def test_undo_cancels_what_runs(self):
        a, b, c = self.live[:3]
        self.create("undone", [a, b], [a, b])
        _, rollback = self.submit({("undone", 0): [a, self.silent], ("undone", 1): [b, a]})
        self.wait_state("undone", 0, ("copying", "waiting"))
        self.wait_replicas_of("undone", 1, [b, a])
        status, out, err = self.moves("undo", rollback, "--yes")
        self.assertEqual(status, 0, err)
        self.assertIn("To cancel: 1; to move back: 1\n", out)
        self.wait_replicas("undone", [a, b], [a, b])

    def wait_replicas_of(self, topic, partition, replicas):
        self.wait_told("replicas of %s-%d" % (topic, partition), topic,
                       lambda told: len(told) > partition and told[partition].replicas == replicas)

    def test_interrupting_a_watch_leaves_the_move(self):
        a, b, c = self.live[:3]
        self.create("watched", [a, b])
        self.submit({("watched", 0): [a, self.silent]})
        with subprocess.Popen([self.cluster.klamm, "moves", "status", "--watch", "--bootstrap-server",
                               self.cluster.bootstrap], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as watch:
            for line in watch.stdout:
                if line.startswith("watched-0  "):
                    break
            watch.send_signal(signal.SIGINT)
            _, err = watch.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(watch.returncode, 130)
        self.assertIn("The moves go on", err)
        self.assertIn(("watched", 0), self.status_of()[1])

    @unittest.skipIf("asan" in BUILD or "tsan" in BUILD, "a sanitizer takes memory of its own")
    def test_s07_a_plan_of_50000_takes_little_memory(self):
        path = os.path.join(self.cluster.root, "bulk.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "partitions": [{"topic": "bulk-%d" % t, "partition": p, "replicas": [1]}
                                                    for t in range(50) for p in range(1000)]}, file)
        process = subprocess.Popen([self.cluster.klamm, "moves", "submit", path, "--dry-run", "--bootstrap-server",
                                    self.cluster.bootstrap], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with process:
            err = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 1)
        self.assertIn("bulk-0-0: Topic bulk-0 not found\n", err)
        self.assertIn(": and 49000 more\n", err)
        self.assertLess(usage.ru_maxrss * 1024, 200e6)


class DeadTarget(MovesTest):
    brokers = 4

    def test_s15_a_dead_target_is_waited_for(self):
        self.create("dead", [1, 2], [1, 4])
        self.cluster.dev("kill", "4")
        path = self.plan({("dead", 0): [1, 4]})
        self.wait_gone(4)
        status, _, err = self.moves("submit", path, "--yes")
        self.assertEqual(status, 1)
        self.assertIn("dead-0: broker 4 is down: the move would wait for it (--allow-down-targets accepts that)\n", err)
        self.submit({("dead", 0): [1, 4]}, "--allow-down-targets")
        why = wait_until("a reason", lambda: self.wait_state("dead", 0, ("queued", "waiting"))["why"])
        self.assertRegex(why, r"\Awaiting for broker 4, down( since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)?\Z")
        self.cluster.dev("start", "4")
        self.wait_replicas("dead", [1, 4], [1, 4])


if __name__ == "__main__":
    unittest.main()
