"""S07: one plan of fifty thousand partitions, concurrency 500, through the queue of the controller."""

import json
import os
import re
import subprocess
import unittest

from support import BUILD, ClusterTest, wait_until

TOPICS = 50
PARTITIONS = 1000
CONCURRENCY = 500


@unittest.skipIf("asan" in BUILD or "tsan" in BUILD, "fifty thousand partitions are too many for a sanitizer")
class Bulk(ClusterTest):
    brokers = 4
    options = ("--session-timeout-ms", "60000")

    def test_s07_fifty_thousand_partitions_are_one_plan(self):
        lists = ",".join(["1"] * PARTITIONS)
        for topic in range(TOPICS):
            self.cluster.admin("topics", "create", "bulk-%d" % topic, "--replica-assignment", lists)
        limits = [word for name in ("--in-per-broker", "--out-per-broker", "--per-cluster")
                  for word in (name, str(CONCURRENCY))]
        self.cluster.admin("moves", "limits", *limits)
        wait_until("the limits", lambda: json.loads(self.cluster.admin("moves", "limits", "--json").stdout)["per_cluster"]
                   == CONCURRENCY)
        controller = self.controller()
        path = os.path.join(self.cluster.root, "bulk.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "partitions": [
                {"topic": "bulk-%d" % t, "partition": p, "replicas": [2 + p % 3]}
                for t in range(TOPICS) for p in range(PARTITIONS)]}, file)
        process = subprocess.Popen([self.cluster.klamm, "moves", "submit", path, "--yes", "--watch", "--interval", "500",
                                    "--bootstrap-server", self.cluster.bootstrap], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        with process:
            out = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, out[-2000:])
        total = TOPICS * PARTITIONS
        self.assertIn(": %d moves accepted, " % total, out)
        running = [int(n) for n in re.findall(r"^\d+ of %d over; (\d+) runs?, " % total, out, re.M)]
        self.assertLessEqual(max(running), CONCURRENCY)
        self.assertIn("%d of %d over; 0 run, 0 wait: " % (total, total), out)
        self.assertLess(usage.ru_maxrss * 1024, 200e6)
        self.assertEqual(self.controller(), controller)
        for topic in ("bulk-0", "bulk-%d" % (TOPICS - 1)):
            self.assertEqual([p["replicas"] for p in self.partitions(topic)],
                             [[2 + p % 3] for p in range(PARTITIONS)])


if __name__ == "__main__":
    unittest.main()
