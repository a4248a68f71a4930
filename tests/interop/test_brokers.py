"""Apache Kafka 3.9 brokers in ZooKeeper mode and klamm's in one cluster, at several levels of
inter.broker.protocol.version: partitions move from one to the other and back, under either's controller."""

import os
import signal
import subprocess

import interop
import protocol
import zookeeper
from ports import free_ports
from servers import SESSION_MS, ServerTest
from support import DEADLINE_SECONDS, Writer, wait_until

LINES = ["line %06d %s" % (i, "payload " * 25) for i in range(10000)]  # 2 MB
KAFKA = 101


class KafkaBroker:
    """A broker of Apache Kafka in a process of its own, with the interface of Server as far as the tests use it."""

    def __init__(self, workshop, connect, level):
        self.directory = os.path.join(workshop.path, "kafka-" + level)
        self.libraries = os.path.join(workshop.path, "lib")
        self.log_path = os.path.join(self.directory, "log")
        self.address = "127.0.0.1:%d" % free_ports(1)[0]
        self.process = None
        self.is_paused = False
        os.makedirs(self.directory)
        with open(os.path.join(self.directory, "server.properties"), "w", encoding="utf-8") as file:
            for key, value in {
                    "broker.id": KAFKA, "zookeeper.connect": connect, "listeners": "PLAINTEXT://" + self.address,
                    "log.dirs": os.path.join(self.directory, "data"), "inter.broker.protocol.version": level,
                    "zookeeper.session.timeout.ms": SESSION_MS, "auto.leader.rebalance.enable": "false",
                    "controlled.shutdown.retry.backoff.ms": 500, "replica.fetch.backoff.ms": 200,
                    "file.delete.delay.ms": 500, "auto.create.topics.enable": "false",
                    "offsets.topic.replication.factor": 1}.items():
                file.write("%s=%s\n" % (key, value))

    def start(self):
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx384m", "-Xms128m", "-cp", self.libraries + "/*", "kafka.Kafka",
                 os.path.join(self.directory, "server.properties")], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def end(self, number):
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(DEADLINE_SECONDS)
            self.process = None


def setUpModule():
    zookeeper.require()
    Mixed.workshop = interop.Workshop("broker.xml")
    Mixed.workshop.fetch("mvn", "-q", "-B", "-f", "broker.xml", "dependency:copy-dependencies", "-DoutputDirectory=lib")


def tearDownModule():
    Mixed.workshop.remove()


class Mixed:
    """Brokers 1 and 2 are ours; the servers of the cluster are those that the common helpers look at."""

    workshop = None
    brokers = 2
    level = None

    @classmethod
    def setUpClass(cls):
        cls.settings = {"inter.broker.protocol.version": cls.level}
        super().setUpClass()
        cls.kafka = KafkaBroker(cls.workshop, cls.cluster.connect, cls.level)

    @classmethod
    def tearDownClass(cls):
        cls.kafka.end(signal.SIGKILL)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        if self.kafka.process is None:
            self.start_kafka()

    def start_kafka(self):
        self.kafka.start()

        def is_started():
            if self.kafka.process.poll() is not None:
                self.fail("the broker of Apache Kafka ended:\n" + self.kafka.log()[-3000:])
            return "[KafkaServer id=%d] started" % KAFKA in self.kafka.log()
        wait_until("broker %d to start" % KAFKA, is_started)

    def become_controller(self, is_kafka):
        """Whoever is to be it stays alone for a moment."""
        if (self.cluster.controller() == KAFKA) == is_kafka:
            return
        if is_kafka:
            for server in self.cluster.servers.values():
                self.assertEqual(server.stop(), 0)
            wait_until("Kafka's controller", lambda: self.cluster.controller() == KAFKA)
            self.cluster.wait_all_ready()
            for server in self.cluster.servers.values():
                server.wait_ready()
        else:
            self.kafka.end(signal.SIGTERM)
            wait_until("our controller", lambda: self.cluster.controller() in self.cluster.servers)
            self.start_kafka()

    def create_everywhere(self, topic, *rows):
        """Waits until each broker tells the leaders of all partitions."""
        self.create(topic, *rows)

        def is_known(address):
            code, found = protocol.metadata(address, topic)
            return code == 0 and len(found) == len(rows) and all(row[0] >= 0 for row in found.values())
        for address in (self.kafka.address, *(server.address for server in self.cluster.servers.values())):
            wait_until("%s to know %s" % (address, topic), lambda at=address: is_known(at))

    def check_moves(self, topic, is_kafka):
        self.become_controller(is_kafka)
        self.create_everywhere(topic, [KAFKA, 1], [1, KAFKA])
        self.produce(topic, LINES[:4000], "-p", "0")
        self.produce(topic, LINES[4000:5000], "-p", "1")
        self.wait_isr(topic, [1, KAFKA], [1, KAFKA])
        self.execute(topic, [2, 1], [2])  # away from Kafka
        self.wait_idle(topic)
        self.wait_replicas(topic, [2, 1], [2])
        self.wait_isr(topic, [1, 2], [2])
        self.assertEqual(sorted(self.consume(topic)), LINES[:5000])
        self.produce(topic, LINES[5000:9000], "-p", "0")
        self.produce(topic, LINES[9000:], "-p", "1")
        self.execute(topic, [KAFKA], [KAFKA, 2])  # and back
        self.wait_idle(topic)
        self.wait_replicas(topic, [KAFKA], [KAFKA, 2])
        self.wait_isr(topic, [KAFKA], [KAFKA, 2])
        self.assertEqual(sorted(self.consume(topic)), LINES)
        self.assertEqual(self.consume(topic, "-p", "0"), LINES[:4000] + LINES[5000:9000])
        self.assertEqual(self.cluster.controller() == KAFKA, is_kafka)

    def check_load(self, topic, is_kafka):
        self.become_controller(is_kafka)
        self.create_everywhere(topic, [KAFKA, 1])
        self.produce(topic, LINES)
        writer = Writer(",".join([self.kafka.address, self.cluster.bootstrap]), topic)
        for target in ([2, 1], [1, KAFKA], [KAFKA]):
            self.execute(topic, target)
            self.wait_idle(topic)
            self.wait_isr(topic, target)
        written = writer.finish()
        self.assertEqual(self.consume(topic), LINES + written)

    def check_leaders_die(self, topic, is_kafka):
        """Whoever leads is killed and comes back to a log that has gone on without it."""
        self.become_controller(is_kafka)
        self.create_everywhere(topic, [KAFKA, 1, 2])
        self.produce(topic, LINES[:1000])
        self.kafka.end(signal.SIGKILL)
        self.cluster.end_sessions(KAFKA)
        wait_until("one of ours to lead", lambda: self.partitions(topic)[0]["leader"] in (1, 2))
        self.produce(topic, LINES[1000:2000])
        self.start_kafka()
        self.wait_isr(topic, [1, 2, KAFKA])
        if (self.cluster.controller() == KAFKA) != is_kafka:
            self.become_controller(is_kafka)
            self.wait_isr(topic, [1, 2, KAFKA])
        self.cluster.admin("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", "0")
        wait_until("Kafka to lead again", lambda: self.partitions(topic)[0]["leader"] == KAFKA)
        for broker in (1, 2):
            self.cluster.kill(broker)
            self.produce(topic, LINES[broker * 1000 + 1000:broker * 1000 + 2000])
            self.cluster.servers[broker].start()
            self.cluster.servers[broker].wait_ready()
            self.wait_isr(topic, [1, 2, KAFKA])
        self.kafka.end(signal.SIGTERM)
        self.assertEqual(self.consume(topic), LINES[:4000])
        self.start_kafka()
        self.wait_isr(topic, [1, 2, KAFKA])

    def test_moves_under_our_controller(self):
        self.check_moves("ours", False)

    def test_moves_under_their_controller(self):
        self.check_moves("theirs", True)


class Whole(Mixed):
    def test_moves_under_load_and_our_controller(self):
        self.check_load("ours-load", False)

    def test_moves_under_load_and_their_controller(self):
        self.check_load("theirs-load", True)

    def test_leaders_die_under_our_controller(self):
        self.check_leaders_die("ours-die", False)

    def test_leaders_die_under_their_controller(self):
        self.check_leaders_die("theirs-die", True)


class AtLevel24(Whole, ServerTest):
    level = "2.4"


class AtLevel28(Mixed, ServerTest):
    level = "2.8"


class AtLevel39(Whole, ServerTest):
    level = "3.9"


if __name__ == "__main__":
    interop.main()
