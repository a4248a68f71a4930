"""What the tests with foreign clients share: fetching a client into a directory of its own, or skipping with the reason; and
the case that all of them run: moves are listed, overridden and listed again, and what the client understood is compared
with what was read by hand.

A client program is called with BOOTSTRAP list, or BOOTSTRAP alter TOPIC PARTITION ID,ID,.. and prints JSON: a list of
[topic, partition, replicas, adding, removing], or the error of the alter (0 = none).
"""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import protocol
from support import ClusterTest, wait_until

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
INSTALL_SECONDS = 240
RUN_SECONDS = 120
CLIENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients")


def skip(reason):
    """Ends the process: nothing of this file can run."""
    print("SKIPPED: " + reason.strip())
    sys.stdout.flush()
    os._exit(SKIPPED)


class Workshop:
    """A temporary directory where a client is fetched and built."""

    def __init__(self, *files):
        self.path = tempfile.mkdtemp(prefix="klamm-interop-")
        atexit.register(self.remove)
        for name in files:
            shutil.copy(os.path.join(CLIENTS, name), self.path)

    def fetch(self, *command, **environment):
        """A step that may need the registry: when it fails the test is skipped with its last words."""
        if shutil.which(command[0]) is None:
            self.skip("%s is not installed" % command[0])
        try:
            done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=False,
                                  timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL, env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            self.skip("%s: no answer within %d s" % (" ".join(command[:3]), INSTALL_SECONDS))
        if done.returncode != 0:
            words = (done.stderr.strip() or done.stdout.strip() or "status %d" % done.returncode).splitlines()
            self.skip("%s: %s" % (" ".join(command[:3]), words[-1]))

    def skip(self, reason):
        self.remove()
        skip(reason)

    def build(self, *command):
        """A step that has to work."""
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
        if done.returncode != 0:
            raise AssertionError("%s ended with status %d:\n%s%s" % (" ".join(command), done.returncode, done.stdout,
                                                                     done.stderr))

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class ClientTest(ClusterTest):
    """A subclass sets workshop and command, the program's first words, in setUpClass before ours runs."""

    brokers = 4
    workshop = None
    command = ()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.workshop.remove()

    def ask(self, *arguments):
        done = subprocess.run([*self.command, self.cluster.bootstrap, *arguments], cwd=self.workshop.path,
                              capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
        if done.returncode != 0:
            self.fail("the client ended with status %d:\n%s%s" % (done.returncode, done.stdout, done.stderr))
        return json.loads(done.stdout.splitlines()[-1])

    def listed(self):
        return {(topic, partition): (replicas, adding, removing)
                for topic, partition, replicas, adding, removing in self.ask("list")}

    def by_hand(self):
        """What the controller lists, read by hand: it fails on any tagged field that nobody asked for."""
        def look():
            code, found = protocol.list_moves(self.address(self.controller()))
            return (found,) if code == 0 else None
        return wait_until("the controller's list", look)[0]

    def check_moves(self):
        self.create("foreign", [1, 2], [1, 2])
        lines = ["line %06d %s" % (i, "payload " * 25) for i in range(5000)]
        for partition in ("0", "1"):
            self.produce("foreign", lines, "-p", partition, "-X", "batch.size=16384", "-X", "compression.codec=none")
        self.assertEqual(self.listed(), {})
        plan = self.plan({("foreign", 0): [2, 3], ("foreign", 1): [3, 4]})
        self.cluster.admin("reassign", "--execute", "--reassignment-json-file", plan, "--throttle", "1000")
        self.assertEqual(self.listed(), self.by_hand())
        self.assertEqual(self.listed(), {("foreign", 0): ([2, 3, 1], [3], [1]),
                                         ("foreign", 1): ([3, 4, 1, 2], [3, 4], [1, 2])})
        self.assertEqual(self.ask("alter", "foreign", "0", "4,2"), 0)
        self.assertEqual(self.listed(), self.by_hand())
        self.assertEqual(self.listed()["foreign", 0], ([4, 2, 1], [4], [1]))
        self.assertEqual(self.ask("alter", "foreign", "1", "3,99"), 39)
        self.assertEqual(self.listed()["foreign", 1], ([3, 4, 1, 2], [3, 4], [1, 2]))
        self.cluster.admin("reassign", "--cancel", "--reassignment-json-file", plan)
        self.assertEqual(self.listed(), {})


main = unittest.main
