"""klamm dev: brokers stopped, killed and started, the whole cluster ended and found again, wrong starts refused."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from devcluster import DevCluster
from support import BUILD, DEADLINE_SECONDS, ClusterTest

KLAMM = os.path.join(BUILD, "klamm")


def lines(prefix, count=2000):
    return ["%s %d" % (prefix, i) for i in range(count)]


class Dev(ClusterTest):
    def states(self):
        status = json.loads(self.cluster.dev("status", "--json").stdout)
        return {b["id"]: b["state"] for b in status["brokers"]}

    def restart(self, *end_signals):
        """Ends the process by the signals, starts another one in its directory; returns the exit status."""
        for end_signal in end_signals:
            self.cluster.process.send_signal(end_signal)
        status = self.cluster.process.wait(DEADLINE_SECONDS)
        self.cluster.process.stdout.close()
        self.cluster.start()
        return status

    def test_stopped_broker_hands_over_and_comes_back(self):
        self.create("stopped", [1, 2, 3])
        self.cluster.dev("stop", "1")
        self.assertEqual(self.states(), {1: "stopped", 2: "running", 3: "running"})
        self.wait_leader("stopped", 2, 3)
        self.produce("stopped", lines("without"))
        self.cluster.dev("start", "1")
        self.wait_isr("stopped", [1, 2, 3])
        self.assertEqual(self.consume("stopped"), lines("without"))

    def test_killed_broker_is_noticed_and_loses_nothing(self):
        self.create("killed", [2, 3, 1])
        self.produce("killed", lines("before"))
        self.cluster.dev("kill", "2")
        self.assertEqual(self.states()[2], "killed")
        self.wait_leader("killed", 1, 3)
        self.produce("killed", lines("between"))
        self.cluster.dev("start", "2")
        self.wait_isr("killed", [1, 2, 3])
        self.assertEqual(self.consume("killed"), lines("before") + lines("between"))

    def test_broker_may_be_started_before_its_old_session_expired(self):
        for _ in range(3):
            self.cluster.dev("kill", "3")
            self.cluster.dev("start", "3")
        self.assertEqual(self.states()[3], "running")

    def test_commands_that_cannot_be_done_say_why(self):
        for words, reason in ((("start", "1"), "broker 1 is running"), (("stop", "9"), "there is no broker 9")):
            result = self.cluster.dev(*words, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn(reason, result.stderr)

    def test_cluster_is_found_again_after_a_clean_end(self):
        self.create("clean", [1, 2, 3])
        self.produce("clean", lines("kept"))
        self.assertEqual(self.restart(signal.SIGTERM), 0)
        self.wait_isr("clean", [1, 2, 3])
        self.assertEqual(self.consume("clean"), lines("kept"))

    def test_two_quick_signals_end_it_cleanly(self):
        for signals in ((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)):
            self.assertEqual(self.restart(*signals), 0)

    def test_cluster_is_found_again_after_a_crash(self):
        self.create("crashed", [1, 2, 3])
        self.produce("crashed", lines("kept"))
        self.assertEqual(self.restart(signal.SIGKILL), -signal.SIGKILL)
        self.wait_isr("crashed", [1, 2, 3])
        self.assertEqual(self.consume("crashed"), lines("kept"))

    def test_directory_in_use_is_refused(self):
        result = self.cluster.dev(check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(self.cluster.directory + " is in use by another klamm dev", result.stderr)

    def test_log_directory_in_use_is_refused(self):
        with tempfile.TemporaryDirectory() as root:
            os.symlink(os.path.join(self.cluster.directory, "broker-1"), os.path.join(root, "broker-1"))
            result = self.cluster.run("dev", "--brokers", "1", "--dir", root, "--port", "0", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "broker 1: .*%s/broker-1.* (in use|locked)" % root)


class WrongStarts(unittest.TestCase):
    def refused(self, status, *arguments, words=()):
        with tempfile.TemporaryDirectory() as directory:
            result = subprocess.run([*words, KLAMM, "dev", "--port", "0", "--dir", directory, *arguments], capture_output=True,
                                    text=True, check=False, timeout=DEADLINE_SECONDS)
        self.assertEqual(result.returncode, status)
        return result.stderr

    def test_wrong_value_is_named_with_key_and_reason(self):
        text = self.refused(1, "--brokers", "1", "--set", "num.partitions=many")
        self.assertIn("Invalid value many for configuration num.partitions: not a whole number", text)

    def test_timeout_ends_it_cleanly(self):
        """It signals the command, then the whole process group."""
        for number in ("INT", "TERM"):
            text = self.refused(124, "--brokers", "2", words=("timeout", "-s", number, "2"))
            self.assertNotIn("at once", text)

    def test_wrong_command_line_is_2(self):
        self.assertIn("--brokers", self.refused(2, "--brokers", "0"))

    def test_newer_metadata_is_refused(self):
        with tempfile.TemporaryDirectory() as root:
            cluster = DevCluster(BUILD, 1, directory=root, options=("--port", "0"))
            cluster.stop(check=True)
            path = os.path.join(cluster.directory, "metastore.db")
            subprocess.run(["python3", "-c", "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); "
                            "db.execute('UPDATE metastore SET format = 99'); db.commit()", path], check=True)
            result = cluster.run("dev", "--dir", cluster.directory, "--port", "0", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("format 99 was made by a newer klamm", result.stderr)

    def test_newer_log_directory_is_refused(self):
        """Kafka's mark of the directory, and ours of the last boot."""
        with tempfile.TemporaryDirectory() as root:
            cluster = DevCluster(BUILD, 1, directory=root, options=("--port", "0"))
            cluster.stop()
            for name, old, new in (("meta.properties", "version=0", "version=7"), ("klamm-boot", "0\n", "7\n")):
                path = os.path.join(cluster.directory, "broker-1", name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.assertIn(old, text)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new, 1))
                result = cluster.run("dev", "--dir", cluster.directory, "--port", "0", check=False)
                self.assertEqual(result.returncode, 1)
                self.assertIn(path + ": version 7 is not known here", result.stderr)
                mark = os.path.join(cluster.directory, "broker-1", ".kafka_cleanshutdown")
                self.assertTrue(os.path.exists(mark), "a directory that is refused was changed")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)

    def test_in_memory_cluster_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as root:
            cluster = DevCluster(BUILD, 2, directory=root, options=("--port", "0", "--in-memory"))
            self.assertTrue(os.path.isdir(os.path.join(cluster.directory, "in-memory", "broker-1")))
            self.assertEqual(cluster.stop(), 0)
            self.assertEqual(os.listdir(cluster.directory), [".lock"])


if __name__ == "__main__":
    unittest.main()
