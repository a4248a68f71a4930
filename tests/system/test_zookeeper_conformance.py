"""The metastore's conformance suite against a real ZooKeeper."""

import os
import subprocess
import unittest

import zookeeper

PROGRAM = os.path.join(os.environ["KLAMM_BUILD"], "tests/system/zookeeper_conformance")


class Conformance(unittest.TestCase):
    def setUp(self):
        self.server = zookeeper.ZooKeeper()
        self.addCleanup(self.server.close)

    def test_zookeeper_backend_keeps_the_contract(self):
        run = subprocess.run([PROGRAM], env=dict(os.environ, KLAMM_ZOOKEEPER=self.server.address),
                             capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
