"""Bad disks: a log directory that is full or fails takes only its own partitions with it, and says so."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import protocol
from devcluster import DevCluster
from ports import free_row
from support import BUILD, ClusterTest, wait_until

LINES = ["line %d" % i for i in range(1000)]


class LogDirs(ClusterTest):
    """Broker 1 has two directories; `small`, its second one, may be a file system of its own."""

    brokers = 2

    @classmethod
    def setUpClass(cls):
        pass  # each test has a cluster of its own: a failed directory stays offline until its broker starts again

    tearDownClass = setUpClass

    def setUp(self):
        root = tempfile.mkdtemp(prefix="klamm-")
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        self.small = os.path.join(root, "data", "broker-1.2")
        os.makedirs(self.small)

    def start(self, build=BUILD):
        root = os.path.dirname(os.path.dirname(self.small))
        type(self).cluster = DevCluster(build, self.brokers, directory=root, options=(
            "--port", str(free_row(self.brokers)), "--log-dirs", "2", "--set", "replica.high.watermark.checkpoint.interval.ms=200"))
        self.addCleanup(self.cluster.stop)

    def mount_small(self, size, where=None):
        where = where or self.small
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "klamm-test", where],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.skipTest("no small file system can be mounted: " + result.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", where], check=True)

    def offline(self):
        """The directories of broker 1 that answer with KAFKA_STORAGE_ERROR."""
        return [d for d, (code, _) in protocol.log_dirs(self.address(1)).items() if code == 56]

    def spread(self, topic):
        """A topic of four partitions, led by broker 1 and followed by 2; those in the small directory of 1."""
        self.create(topic, *[[1, 2]] * 4)
        found = {}
        for directory, (code, logs) in protocol.log_dirs(self.address(1)).items():
            self.assertEqual(code, 0)
            found[directory] = sorted(partition for (name, partition) in logs if name == topic)
        self.assertEqual(len(found), 2)
        self.assertEqual(sorted(sum(found.values(), [])), [0, 1, 2, 3])
        self.assertEqual(len(found[self.small]), 2)
        return found[self.small]

    def assert_only_these_moved(self, topic, moved):
        """Broker 2 leads the partitions that were in the bad directory, the others stay, and all take records."""
        self.wait_told("broker 2 to lead %s" % moved, topic, lambda told: [p.leader for p in told] == [
            2 if i in moved else 1 for i in range(4)])
        for partition in range(4):
            self.produce(topic, LINES, "-p", str(partition))
            self.assertEqual(self.consume(topic, "-p", str(partition))[-len(LINES):], LINES)
        self.assertEqual(self.offline(), [self.small])
        self.assertEqual(self.status()[1]["state"], "running")

    def test_full_disk(self):
        self.mount_small("1m")
        self.start()
        moved = self.spread("full")
        value = b"x" * 200000
        codes = [protocol.produce(self.address(1), "full", moved[0], value, acks=1) for _ in range(10)]
        self.assertEqual(codes[0], 0)
        self.assertEqual({code for code in codes if code != 0}, {56})
        self.assert_only_these_moved("full", moved)
        self.assertIn("klamm dev: broker 1: warning: log directory %s is offline: log of full-%d: disk full\n"
                      % (self.small, moved[0]), self.cluster.log())

    def test_full_disk_of_the_metadata_does_not_hold_up_the_end(self):
        data = os.path.dirname(self.small)
        self.mount_small("16m", data)
        self.start()
        self.create("kept", [1, 2])
        self.produce("kept", LINES)
        filler = os.path.join(data, "filler")
        with self.assertRaises(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        with subprocess.Popen([self.cluster.klamm, "topics", "create", "lost", "--partitions", "500",
                               "--bootstrap-server", self.cluster.bootstrap], stderr=subprocess.DEVNULL) as create:
            self.addCleanup(create.kill)
            wait_until("the disk to be full", lambda: "metadata cannot be written" in self.cluster.log())
            self.cluster.process.send_signal(signal.SIGINT)
            self.assertEqual(self.cluster.process.wait(timeout=60), 1)
            create.wait(timeout=60)
        self.assertIn("brokers end without handing over\n", self.cluster.log())
        os.unlink(filler)
        self.start()
        self.assertEqual(self.consume("kept"), LINES)

    def test_neither_segments_nor_connections_take_all_descriptors(self):
        build = os.path.join(os.path.dirname(os.path.dirname(self.small)), "few")
        os.makedirs(build)
        with open(os.path.join(build, "klamm"), "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\nulimit -n 600 || exit 1\nexec '%s/klamm' \"$@\"\n" % BUILD)
        os.chmod(script.name, 0o755)
        self.start(build)
        self.cluster.admin("topics", "create", "many", "--replica-assignment", "1:2,2:1,1:2,2:1",
                           "--config", "segment.bytes=50000")
        lines = ["%06d %s" % (i, "x" * 100) for i in range(20000)]
        sockets = []
        self.addCleanup(lambda: [s.close() for s in sockets])
        for address in self.cluster.bootstrap.split(",") * 400:
            host, port = address.split(":")
            sockets.append(socket.create_connection((host, int(port)), timeout=60))
        for s in sockets[-2:]:  # refused; those before have been decided on
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(s.recv(1), b"")
        for s in sockets[:20]:
            s.close()  # room for the producer, and for the brokers among themselves
        self.partitions("many")  # it is there
        self.produce("many", lines, "-X", "batch.num.messages=50")
        self.assertNotIn("offline", self.cluster.log())
        for s in sockets:
            s.close()
        self.assertEqual(sorted(self.consume("many")), lines)
        self.assertEqual({b["state"] for b in self.status().values()}, {"running"})

    def test_file_in_the_place_of_a_directory(self):
        os.rmdir(self.small)
        with open(self.small, "w", encoding="utf-8"):
            pass
        self.start()
        self.assertIn("klamm dev: broker 1: warning: log directory %s is offline: it is not a directory\n" % self.small,
                      self.cluster.log())
        self.assertEqual(self.offline(), [self.small])
        self.create("file", [1, 2])
        self.produce("file", LINES)
        self.assertEqual(self.consume("file"), LINES)

    def test_directory_that_is_gone(self):
        self.start()
        moved = self.spread("gone")
        for partition in range(4):
            self.produce("gone", LINES, "-p", str(partition))
        os.rename(self.small, self.small + "-away")
        with open(self.small, "w", encoding="utf-8"):
            pass
        self.assert_only_these_moved("gone", moved)
        self.assertIn("klamm dev: broker 1: warning: log directory %s is offline: " % self.small, self.cluster.log())
        self.cluster.dev("stop", "1")
        os.unlink(self.small)
        os.rename(self.small + "-away", self.small)
        self.cluster.dev("start", "1")
        self.wait_isr("gone", *[[1, 2]] * 4)
        self.assertEqual(self.offline(), [])


if __name__ == "__main__":
    unittest.main()
