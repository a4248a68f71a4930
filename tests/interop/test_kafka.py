"""klamm moves on brokers of Apache Kafka: what works there works, the queue survives kill -9 in a journal, and what needs
a klamm controller is refused by name. Three brokers in KRaft mode, one of them the controller too.
"""

import json
import os
import signal
import subprocess
import unittest

import interop
from ports import free_ports
from support import BUILD, DEADLINE_SECONDS, kcat, wait_until

KLAMM = os.path.join(BUILD, "klamm")
JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", "lib/*")
START_SECONDS = 240  # three virtual machines on whatever there is
CLUSTER_ID = "a2xhbW0taW50ZXJvcC0wMA"
LINES = ["line %06d %s" % (i, "payload " * 25) for i in range(5000)]


class Kafka(unittest.TestCase):
    processes = []

    @classmethod
    def setUpClass(cls):
        cls.workshop = interop.Workshop("kafka.xml")
        cls.addClassCleanup(cls.remove)
        cls.workshop.fetch("mvn", "-q", "-B", "-f", "kafka.xml", "dependency:copy-dependencies", "-DoutputDirectory=lib")
        cls.workshop.fetch("java", "-version")
        controller, *ports = free_ports(4)
        cls.bootstrap = "127.0.0.1:%d" % ports[0]
        for node, port in enumerate(ports, 1):
            cls.start_node(node, port, controller)
        wait_until("three brokers", lambda: len(cls.broker_ids()) == 3, START_SECONDS)

    @classmethod
    def broker_ids(cls):
        told = kcat("-b", cls.bootstrap, "-L", "-J", check=False)
        return [broker["id"] for broker in json.loads(told.stdout)["brokers"]] if told.returncode == 0 else []

    @classmethod
    def start_node(cls, node, port, controller):
        properties = "%d.properties" % node
        listeners = "PLAINTEXT://127.0.0.1:%d" % port
        with open(os.path.join(cls.workshop.path, properties), "w", encoding="utf-8") as file:
            file.write("\n".join((
                "process.roles=" + ("broker,controller" if node == 1 else "broker"), "node.id=%d" % node,
                "controller.quorum.voters=1@127.0.0.1:%d" % controller, "controller.listener.names=CONTROLLER",
                "listeners=" + listeners + (",CONTROLLER://127.0.0.1:%d" % controller if node == 1 else ""),
                "advertised.listeners=" + listeners,
                "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "log.dirs=" + os.path.join(cls.workshop.path, "data-%d" % node), "auto.create.topics.enable=false",
                "offsets.topic.replication.factor=1", "")))
        cls.workshop.build(*JAVA, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", properties)
        with open(os.path.join(cls.workshop.path, "%d.log" % node), "w", encoding="utf-8") as log:
            cls.processes.append(subprocess.Popen([*JAVA, "kafka.Kafka", properties], cwd=cls.workshop.path, stdout=log,
                                                  stderr=subprocess.STDOUT))

    @classmethod
    def remove(cls):
        for process in cls.processes:
            process.kill()
            process.wait()
        cls.workshop.remove()

    def klamm(self, *arguments):
        done = subprocess.run([KLAMM, *arguments, "--bootstrap-server", self.bootstrap], cwd=self.workshop.path,
                              capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS)
        return done.returncode, done.stdout, done.stderr

    def create(self, topic, *rows):
        status, out, err = self.klamm("topics", "create", topic, "--replica-assignment",
                                      ",".join(":".join(map(str, row)) for row in rows))
        self.assertEqual(status, 0, out + err)
        wait_until("leaders of " + topic, lambda: self.lists(topic) == [list(row) for row in rows])
        for partition in range(len(rows)):
            kcat("-b", self.bootstrap, "-t", topic, "-P", "-p", str(partition), "-X", "acks=all", text="\n".join(LINES))

    def lists(self, topic):
        status, out, _ = self.klamm("topics", "describe", topic, "--json")
        partitions = [p for t in json.loads(out)["topics"] for p in t["partitions"]] if status == 0 else []
        return [p["replicas"] for p in partitions if p["leader"] >= 0]

    def plan(self, topic, *rows):
        path = os.path.join(self.workshop.path, topic + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "partitions": [{"topic": topic, "partition": p, "replicas": row}
                                                    for p, row in enumerate(rows)]}, file)
        return path

    def test_the_queue_survives_kill_9(self):
        self.create("queue", *([[1, 2]] * 4))
        path = self.plan("queue", *([[3, 2]] * 4))
        status, out, err = self.klamm("moves", "submit", path, "--dry-run")
        self.assertEqual(status, 0, err)
        self.assertIn("Plan: 4 partitions, 4 to change\n", out)
        self.assertNotIn("To copy: 0 B", out)
        command = [KLAMM, "moves", "submit", path, "--yes", "--concurrency", "1", "--interval", "100",
                   "--bootstrap-server", self.bootstrap]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as first:
            self.assertIsNotNone(next((line for line in first.stdout if line.endswith("  done\n")), None))
            first.send_signal(signal.SIGKILL)
        journal = path.replace(".json", ".journal")
        self.assertTrue(os.path.exists(journal))
        # A move that ends just now may be out of the list of moves and still in what a broker tells of its topic.
        wait_until("no move to be under way", lambda: [len(row) for row in self.lists("queue")] == [2] * 4)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Going on with what waits in ", done.stderr)
        self.assertFalse(os.path.exists(journal))
        wait_until("the lists", lambda: self.lists("queue") == [[3, 2]] * 4)
        status, out, err = self.klamm("moves", "undo", path.replace(".json", ".rollback.json"), "--yes", "--watch")
        self.assertEqual(status, 0, out + err)
        wait_until("the lists", lambda: self.lists("queue") == [[1, 2]] * 4)

    def test_moves_are_shown_and_cancelled(self):
        self.create("slow", [1, 2])
        path = self.plan("slow", [1, 3])
        status, out, err = self.klamm("reassign", "--execute", "--reassignment-json-file", path, "--throttle", "1000")
        self.assertEqual(status, 0, out + err)
        status, out, err = self.klamm("moves", "status")
        self.assertEqual(status, 0, err)
        self.assertIn("slow-0     copying  1,3 ", out)
        self.assertIn("The controller of this cluster is not klamm's", err)
        status, _, err = self.klamm("moves", "pause", "--all")
        self.assertEqual(status, 1)
        self.assertIn("moves cannot be paused there", err)
        self.assertEqual(self.klamm("moves", "cancel", "--topic", "slow")[:2], (0, "1 cancelled\n"))
        self.assertEqual(self.klamm("moves", "status")[:2], (0, "Nothing moves and nothing waits.\n"))
        wait_until("the old list", lambda: self.lists("slow") == [[1, 2]])
        self.assertEqual(self.klamm("reassign", "--verify", "--reassignment-json-file", path)[0], 0)


if __name__ == "__main__":
    interop.main()
