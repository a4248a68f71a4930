"""klamm server without a ZooKeeper: its files in conf/, faults of a configuration, a metastore that is not there."""

import configparser
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import BUILD, DEADLINE_SECONDS

KLAMM = os.path.join(BUILD, "klamm")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
NOWHERE = "127.0.0.1:1"  # the port of a service that nobody has


def server(*arguments):
    return subprocess.run([KLAMM, "server", *arguments], capture_output=True, text=True, check=False,
                          timeout=DEADLINE_SECONDS)


class Server(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="klamm-server-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def config(self, *lines):
        path = os.path.join(self.directory, "server.properties")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path

    def working_config(self, *more):
        return self.config("zookeeper.connect=" + NOWHERE, "log.dirs=" + self.directory + "/data",
                           "listeners=PLAINTEXT://127.0.0.1:0", *more)

    def test_example_is_right_and_names_nothing_unknown(self):
        result = server("--config", str(SOURCE / "conf/server.properties"), "--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_every_line_of_the_example_that_is_commented_out_is_right_too(self):
        lines = (SOURCE / "conf/server.properties").read_text().splitlines()
        settings = [line[1:] for line in lines if line.startswith("#") and line[1:2].isalpha()]
        self.assertGreater(len(settings), 3)
        digest = self.config("user:password")
        path = os.path.join(self.directory, "all.properties")
        pathlib.Path(path).write_text("\n".join(lines + settings) + "\n")
        result = server("--config", path, "--check", "--override", "klamm.zookeeper.digest.file=" + digest)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_unit_runs_the_server_as_its_help_says(self):
        unit = configparser.ConfigParser(interpolation=None, strict=True)
        unit.optionxform = str
        unit.read(SOURCE / "conf/klamm.service")
        self.assertEqual(set(unit.sections()), {"Unit", "Service", "Install"})
        service = unit["Service"]
        words = service["ExecStart"].split()
        self.assertEqual(words[:2], ["/usr/bin/klamm", "server"])
        for word in words[2:]:
            if word.startswith("--"):
                self.assertIn(word, server("--help").stdout)
        self.assertIn("2 the command line or the configuration is wrong", server("--help").stdout.replace("\n", " "))

    def test_unit_does_not_try_a_wrong_configuration_again(self):
        """RestartPreventExitStatus counts for ExecStart alone; what ran before it would be tried for ever."""
        unit = configparser.ConfigParser(interpolation=None, strict=True)
        unit.optionxform = str
        unit.read(SOURCE / "conf/klamm.service")
        self.assertEqual([key for key in unit["Service"] if key.startswith("Exec")], ["ExecStart"])
        status = server("--config", self.config("log.dirs=" + self.directory)).returncode
        self.assertEqual(unit["Service"]["RestartPreventExitStatus"], str(status))

    @unittest.skipIf(shutil.which("systemd-analyze") is None, "systemd-analyze is not installed")
    def test_unit_is_accepted_by_systemd(self):
        """A copy, so that the paths that it names exist here."""
        text = (SOURCE / "conf/klamm.service").read_text().replace("/usr/bin/klamm", KLAMM)
        path = os.path.join(self.directory, "klamm.service")
        pathlib.Path(path).write_text(text)
        result = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True,
                                check=False, timeout=DEADLINE_SECONDS)
        told = [line for line in result.stderr.splitlines() if "klamm.service" in line]
        self.assertEqual((told, result.returncode), ([], 0))

    def test_document_is_the_one_of_the_program(self):
        result = server("--print-configuration")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout, (SOURCE / "docs/configuration.md").read_text())

    def test_faults_stop_the_start_with_file_line_key_value_and_reason(self):
        path = self.working_config("num.partitions=none", "no.such.key=1", "min.insync.replicas=0")
        result = server("--config", path)
        self.assertEqual(result.returncode, 2)
        lines = [line.split(" ", 1)[1] for line in result.stderr.splitlines()]
        self.assertEqual(lines, [
            "WARN  %s:5: Unknown configuration no.such.key is ignored" % path,
            "ERROR %s:4: Invalid value none for configuration num.partitions: not a whole number" % path,
            "ERROR %s:6: Invalid value 0 for configuration min.insync.replicas: must be from 1 to 2147483647" % path])
        self.assertFalse(os.path.exists(self.directory + "/data"))

    def test_missing_zookeeper_is_waited_for_and_then_an_error(self):
        result = server("--config", self.working_config("zookeeper.connection.timeout.ms=5000"))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"INFO  waiting for ZooKeeper at %s, [2-4]\d\d\d of 5000 ms" % NOWHERE)
        self.assertRegex(result.stderr, r"WARN  ZooKeeper %s: " % NOWHERE)
        self.assertRegex(result.stderr.splitlines()[-1],
                         "ERROR ZooKeeper at %s could not be reached, or not be used, within "
                         "zookeeper.connection.timeout.ms = 5000$" % NOWHERE)

    def test_start_that_waits_can_be_ended(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen([KLAMM, "server", "--config", self.working_config()], stderr=subprocess.PIPE,
                                       text=True)
            self.assertTrue(any("WARN" in line for line in process.stderr))
            begun = time.monotonic()
            for _ in range(2):  # as timeout(1) does
                process.send_signal(number)
            self.assertEqual(process.wait(DEADLINE_SECONDS), 0)
            self.assertLess(time.monotonic() - begun, 10)
            process.stderr.close()

    def test_a_log_directory_that_is_a_file_is_named(self):
        """A broker without an id looks there before anything else."""
        file = os.path.join(self.directory, "plain")
        pathlib.Path(file).write_text("no directory\n")
        result = server("--config", self.working_config(), "--override", "log.dirs=%s" % file)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.endswith(
            " ERROR cannot start: log directory %s: it is not a directory\n" % file), result.stderr)

    def test_directories_of_two_brokers_are_not_mixed(self):
        for number in (1, 2):
            os.makedirs("%s/data%d" % (self.directory, number))
            pathlib.Path("%s/data%d/meta.properties" % (self.directory, number)).write_text(
                "version=0\nbroker.id=%d\n" % number)
        result = server("--config", self.working_config(), "--override",
                        "log.dirs=%s/data1,%s/data2" % (self.directory, self.directory))
        self.assertEqual(result.returncode, 1)
        self.assertIn("data1 belongs to broker 1, ", result.stderr)


if __name__ == "__main__":
    unittest.main()
