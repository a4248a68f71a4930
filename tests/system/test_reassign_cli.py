"""The command line against brokers: rows 75 and 77 to 81 of the reassignment specification's section 15, and S04.

A move that does not end is made with a target whose sockets are closed while its session lives: it counts as a live
broker, and never gets in sync.
"""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from support import DEADLINE_SECONDS, ClusterTest

LINES = ["line %06d %s" % (i, "payload " * 20) for i in range(2000)]


class ReassignCli(ClusterTest):
    brokers = 6
    options = ("--session-timeout-ms", "600000")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        controller = [line.split()[0] for line in cls.cluster.dev("status").stdout.splitlines() if " yes " in line]
        cls.silent = max(set(range(1, 7)) - {int(controller[0])})
        cls.live = [b for b in range(1, 7) if b != cls.silent]
        cls.cluster.dev("kill", str(cls.silent))

    def reassign(self, action, path=None, *options):
        file = ("--reassignment-json-file", path) if path else ()
        result = self.cluster.admin("reassign", action, *file, *options, check=False)
        return result.returncode, result.stdout, result.stderr

    def moving(self):
        return json.loads(self.reassign("--list", None, "--json")[1])["reassignments"]

    def cleared(self, topic):
        """What --verify and --cancel say when they clear throttles, and the note about the broker that does not listen."""
        brokers = ",".join(map(str, sorted(self.live + [self.silent])))
        return ("Clearing broker-level throttles on brokers %s\nClearing topic-level throttles on topic %s\n"
                % (brokers, topic))

    def assert_noted(self, err):
        self.assertRegex(err, r"\ABroker %d cannot be reached, its throttle stays as it is: [^\n]*\n\Z" % self.silent)

    def tearDown(self):
        moves = {(m["topic"], m["partition"]): [1] for m in self.moving()}
        if moves:
            self.assertEqual(self.reassign("--cancel", self.plan(moves))[0], 0)

    def test_row_75_running_moves_are_not_joined_unasked(self):
        a, b, c, d = self.live[:4]
        self.create("join", [a, b, c], [a, b, c])
        self.assertEqual(self.reassign("--execute", self.plan({("join", 0): [a, b, self.silent]}))[0], 0)
        other = self.plan({("join", 1): [a, b, d]})
        status, out, _ = self.reassign("--execute", other)
        self.assertEqual(status, 1)
        self.assertTrue(out.startswith("Cannot execute because there is an existing partition assignment."), out)
        self.assertIn("--additional", out)
        self.assertEqual([(m["topic"], m["partition"]) for m in self.moving()], [("join", 0)])
        self.assertEqual(self.partitions("join")[1]["replicas"], [a, b, c])
        status, out, _ = self.reassign("--execute", other, "--additional")
        self.assertEqual(status, 0)
        self.assertIn("Successfully started partition reassignment for join-1\n", out)

    def test_rows_77_and_78_verify(self):
        a, b, c, d, _ = self.live
        self.create("verified", [a, b], [a, b], [a, b])
        self.produce("verified", LINES)
        path = self.plan({("verified", 0): [c, d], ("verified", 1): [b, a]})
        status, out, _ = self.reassign("--execute", path, "--watch")
        self.assertEqual(status, 0, out)
        self.wait_replicas("verified", [c, d], [b, a], [a, b])
        done = ("Status of partition reassignment:\n"
                "Reassignment of partition verified-0 is completed.\n"
                "Reassignment of partition verified-1 is completed.\n\n")
        status, out, err = self.reassign("--verify", path)
        self.assertEqual((status, out), (0, done + self.cleared("verified")))
        self.assert_noted(err)
        self.assertEqual(self.reassign("--verify", path, "--preserve-throttles"), (0, done, ""))
        status, out, _ = self.reassign("--verify", self.plan({("verified", 0): [d, c]}))
        self.assertEqual((status, out), (0, "Status of partition reassignment:\n"
                                            "There is no active reassignment of partition verified-0, but replica set "
                                            "is %d,%d rather than %d,%d.\n\n" % (c, d, d, c) + self.cleared("verified")))
        running = self.plan({("verified", 2): [a, b, self.silent]})
        self.assertEqual(self.reassign("--execute", running)[0], 0)
        self.assertEqual(self.reassign("--verify", running), (0, "Status of partition reassignment:\n"
                         "Reassignment of partition verified-2 is still in progress.\n\n", ""))
        status, _, err = self.reassign("--verify", self.plan({("verified", 2): [a, c]}))
        self.assertEqual(status, 0)
        self.assertIn("verified-2: another target is active: [%d,%d,%d]\n" % (a, b, self.silent), err)

    def test_row_79_a_pure_growth_is_cancelled(self):
        a, b, c = self.live[:3]
        self.create("grown", [a, b, c])
        path = self.plan({("grown", 0): [a, b, c, self.silent]})
        self.assertEqual(self.reassign("--execute", path)[0], 0)
        self.assertEqual(self.partitions("grown")[0]["adding"], [self.silent])
        status, out, err = self.reassign("--cancel", path)
        self.assertEqual((status, out), (0, "Successfully cancelled partition reassignment for: grown-0\n"
                                            "None of the specified partition moves are active." + self.cleared("grown")))
        self.assert_noted(err)
        self.wait_replicas("grown", [a, b, c])

    def test_s04_a_cancel_tells_idle_from_unknown(self):
        a, b, c = self.live[:3]
        self.create("mixed", [a, b, c], [a, b, c])
        self.assertEqual(self.reassign("--execute", self.plan({("mixed", 0): [a, b, self.silent]}))[0], 0)
        path = self.plan({("mixed", 0): [a], ("mixed", 1): [a], ("mixed", 9): [a], ("ghost", 0): [a]})
        status, out, err = self.reassign("--cancel", path)
        self.assertEqual(status, 0)
        self.assertIn("Successfully cancelled partition reassignment for: mixed-0\n", out)
        self.assertIn("1 cancelled, 1 was not moving, 2 unknown\n", err)
        self.wait_replicas("mixed", [a, b, c], [a, b, c])

    def test_row_80_list_is_sorted_and_shows_only_what_there_is(self):
        a, b, c = self.live[:3]
        self.assertEqual(self.reassign("--list"), (0, "No partition reassignments found.\n", ""))
        self.create("listed-b", [a, b, c])
        self.create("listed-a", [a, b, c])
        path = self.plan({("listed-b", 0): [a, b, c, self.silent], ("listed-a", 0): [self.silent, a, b]})
        self.assertEqual(self.reassign("--execute", path)[0], 0)
        self.assertEqual(self.reassign("--list"), (0, (
            "Current partition reassignments:\n"
            "listed-a-0: replicas: {s},{a},{b},{c}. adding: {s}. removing: {c}.\n"
            "listed-b-0: replicas: {a},{b},{c},{s}. adding: {s}.\n").format(a=a, b=b, c=c, s=self.silent), ""))

    def test_row_81_log_dirs_of_another_length_change_nothing(self):
        a, b, c, d = self.live[:4]
        self.create("dirs", [a, b, c])
        status, out, err = self.reassign("--execute", self.plan({("dirs", 0): [b, c, d]}, log_dirs=["any"]))
        self.assertEqual(status, 1)
        self.assertTrue(out.startswith("Error: "), out)
        self.assertIn("dirs-0", err)
        self.assertEqual(self.partitions("dirs")[0]["replicas"], [a, b, c])
        self.assertEqual(self.moving(), [])

    def test_all_faults_of_a_plan_are_named_and_nothing_changes(self):
        a, b, c = self.live[:3]
        self.create("faults", [a, b, c], [a, b, c])
        path = self.plan({("faults", 0): [a, b, 99], ("faults", 7): [a, b], ("faults", 4294967297): [a, b]})
        status, _, err = self.reassign("--execute", path)
        self.assertEqual(status, 1)
        for text in ("broker 99 is unknown", "faults-7 does not exist", "the partition is beyond 2147483647: 4294967297"):
            self.assertIn(text, err)
        self.assertEqual([p["replicas"] for p in self.partitions("faults")], [[a, b, c], [a, b, c]])

    def test_a_throttle_of_directory_moves_is_refused_before_anything_is_sent(self):
        a, b, c, d = self.live[:4]
        self.create("dirs-throttle", [a, b, c])
        status, out, _ = self.reassign("--execute", self.plan({("dirs-throttle", 0): [b, c, d]}),
                                       "--replica-alter-log-dirs-throttle", "1000")
        self.assertEqual((status, out), (1, "Error: throttles of moves between log directories are not available yet; "
                                            "nothing was started.\n"))
        self.assertEqual(self.partitions("dirs-throttle")[0]["replicas"], [a, b, c])

    def watch(self, path):
        """Starts --execute --watch of the plan; returns its process once it shows progress."""
        process = subprocess.Popen([self.cluster.klamm, "reassign", "--bootstrap-server", self.cluster.bootstrap,
                                    "--reassignment-json-file", path, "--execute", "--watch"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "-0  " in line:
                break
        return process

    def test_interrupting_a_watch_leaves_the_move(self):
        a, b, c = self.live[:3]
        self.create("watched", [a, b, c])
        watch = self.watch(self.plan({("watched", 0): [a, b, self.silent]}))
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(watch.returncode, 130)
        self.assertIn("The moves go on", err)
        self.assertEqual(self.moving()[0]["topic"], "watched")

    def test_s40_a_cluster_that_stands_still_is_waited_for(self):
        a, b, c = self.live[:3]
        self.create("still", [a, b, c])
        watch = self.watch(self.plan({("still", 0): [a, b, self.silent]}))
        self.cluster.process.send_signal(signal.SIGSTOP)
        try:
            told = next((line for line in watch.stderr if "no answer in time" in line or "does not answer" in line), None)
        finally:
            self.cluster.process.send_signal(signal.SIGCONT)
        self.assertIsNotNone(told)
        for line in watch.stdout:
            if line.startswith("still-0  "):
                break
        watch.send_signal(signal.SIGINT)
        out, err = watch.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(watch.returncode, 130, line + out + err)

    def test_generate_proposes_and_changes_nothing(self):
        a, b, c, d, e = self.live
        self.create("proposed", [a, b], [a, b])
        self.assertEqual(self.reassign("--execute", self.plan({("proposed", 1): [a, b, c]}), "--watch")[0], 0)
        self.wait_replicas("proposed", [a, b], [a, b, c])
        handle, path = tempfile.mkstemp(suffix=".json", dir=self.cluster.root)
        with os.fdopen(handle, "w") as file:
            json.dump({"version": 1, "topics": [{"topic": "proposed"}]}, file)
        command = ("reassign", "--generate", "--topics-to-move-json-file", path)
        result = self.cluster.admin(*command, "--broker-list", "%d,%d,%d" % (c, d, e))
        lines = result.stdout.splitlines()
        self.assertEqual((lines[0], lines[3]), ("Current partition replica assignment",
                                                "Proposed partition reassignment configuration"))
        proposed = json.loads(lines[4])["partitions"]
        self.assertEqual([len(p["replicas"]) for p in proposed], [2, 3])
        self.assertLessEqual({r for p in proposed for r in p["replicas"]}, {c, d, e})
        self.assertEqual(self.partitions("proposed")[1]["replicas"], [a, b, c])
        result = self.cluster.admin(*command, "--broker-list", "%d,x" % c, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, "Error: Broker list: \"x\" is no broker id\n"))

    def test_preferred_leader_comes_back(self):
        a, b, c = self.live[:3]
        self.create("led", [a, b, c])
        self.assertEqual(self.reassign("--execute", self.plan({("led", 0): [b, a, c]}))[0], 0)
        self.wait_replicas("led", [b, a, c])
        self.assertEqual({told[0].leader for told in self.told("led")}, {a})
        result = self.cluster.admin("leader-election", "--topic", "led", "--partition", "0")
        self.assertEqual(result.stdout, "led-0: the preferred replica leads now\n")
        self.wait_leader("led", b)


if __name__ == "__main__":
    unittest.main()
