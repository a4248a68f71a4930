"""Disks that hold a move up, full or failed, are named as what it waits for."""

import os
import shutil
import subprocess
import tempfile
import unittest

from devcluster import DevCluster
from moves_report import DIR_OFFLINE, DISK_FULL, FAILED
from moving import SLOW, SMALL, SOME, MovingTest
from ports import free_row
from support import BUILD


class BadDirectory(MovingTest):
    """Broker 2 takes a copy in its second directory, which fails."""

    brokers = 3

    @classmethod
    def setUpClass(cls):
        pass  # each test has a cluster of its own: a failed directory stays offline until its broker starts again

    tearDownClass = setUpClass

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="klamm-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.small = os.path.join(self.root, "data", "broker-2.2")
        os.makedirs(self.small)

    def start(self):
        type(self).cluster = DevCluster(BUILD, self.brokers, directory=self.root,
                                        options=(
            "--port", str(free_row(self.brokers)), "--log-dirs", "2", "--set", "replica.high.watermark.checkpoint.interval.ms=200"))
        self.addCleanup(self.cluster.stop)
        self.create("taken", [2])  # the first directory has one then, the second is taken next
        self.create("copied", [1])
        self.produce("copied", SOME, *SMALL)

    def check_failed(self, reason):
        move = self.wait_reason("copied", reason)
        self.assertEqual(move["adding"][2]["reason"], reason)
        self.assertEqual(move["adding"][2]["state"], FAILED)
        self.assertEqual(self.consume("copied"), SOME)

    def test_a_directory_that_fails_is_a_reason(self):
        self.start()
        self.start_moves({("copied", 0): [2]}, *SLOW)
        self.wait_move("copied", "the first bytes", lambda m: m["copied"] > 0)
        os.rename(self.small, self.small + "-away")
        with open(self.small, "w", encoding="utf-8"):
            pass
        self.check_failed(DIR_OFFLINE)

    def test_a_full_disk_is_a_reason(self):
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "klamm-test", self.small],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.skipTest("no small file system can be mounted: " + result.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", self.small], check=True)
        self.start()
        self.start_moves({("copied", 0): [2]})
        self.check_failed(DISK_FULL)

    def test_a_failed_directory_of_a_replica_that_stays_is_a_reason(self):
        self.start()
        self.create("kept", [1, 2])
        self.produce("kept", SOME, *SMALL)
        os.rename(self.small, self.small + "-away")
        with open(self.small, "w", encoding="utf-8"):
            pass
        self.produce("kept", SOME, *SMALL)  # 2 cannot store it
        self.wait_isr("kept", [1])
        self.start_moves({("kept", 0): [1, 2, 3]})
        move = self.wait_reason("kept", DIR_OFFLINE)
        self.assertEqual(move["eta_ms"], -1)
        self.wait_move("kept", "all bytes", lambda m: m["copied"] == m["to_copy"] > 0)
        self.assertEqual(self.move("kept")["reason"], DIR_OFFLINE)


if __name__ == "__main__":
    unittest.main()
