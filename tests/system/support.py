"""What the system tests share: the build's path, waiting for conditions, kcat."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

import configs
import protocol
from devcluster import DevCluster
from ports import free_row

BUILD = os.environ["KLAMM_BUILD"]
DEADLINE_SECONDS = 60
KCAT_SECONDS = 200  # for the 100 MB that some tests write, on any machine


def wait_until(what, condition, seconds=DEADLINE_SECONDS, told=lambda: ""):
    """Polls until condition() is true; its last value is returned. Fails with `what`, and told(), at the deadline."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("waited %d s for %s%s" % (seconds, what, told()))
        time.sleep(0.1)


def kcat(*arguments, text=None, check=True):
    result = subprocess.run(["kcat", *arguments], input=text, capture_output=True, text=True, check=False,
                            timeout=KCAT_SECONDS)
    if check and result.returncode != 0:
        raise AssertionError("kcat %s: status %d\n%s" % (" ".join(arguments), result.returncode, result.stderr))
    return result


class Writer(threading.Thread):
    """An idempotent producer at about 1000 records a second until it is stopped."""

    def __init__(self, bootstrap, topic):
        super().__init__(daemon=True)
        self.lines = []
        self.is_stopped = threading.Event()
        self.process = subprocess.Popen(["kcat", "-b", bootstrap, "-t", topic, "-P", "-E", "-q", "-X",
                                         "enable.idempotence=true"], stdin=subprocess.PIPE, text=True)
        self.start()

    def run(self):
        while not self.is_stopped.wait(0.05):
            lines = ["written %07d" % (len(self.lines) + i) for i in range(50)]
            self.process.stdin.write("\n".join(lines) + "\n")
            self.process.stdin.flush()
            self.lines += lines

    def finish(self):
        """All lines, once they are acknowledged."""
        self.is_stopped.set()
        self.join()
        self.process.stdin.close()
        assert self.process.wait(DEADLINE_SECONDS) == 0
        return self.lines


class ClusterTest(unittest.TestCase):
    """A test class with a cluster of its own, started once."""

    brokers = 3
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.cluster = DevCluster(BUILD, cls.brokers, options=("--port", str(free_row(cls.brokers)), *cls.options))
        for address in cls.cluster.bootstrap.split(","):  # each is ready when it knows itself
            wait_until("%s to know all brokers" % address, lambda at=address: len(protocol.brokers(at)) == cls.brokers)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop(check=True)

    def create(self, topic, *rows):
        """Makes a topic; a row is the replica list of one partition."""
        self.cluster.admin("topics", "create", topic, "--replica-assignment",
                           ",".join(":".join(map(str, row)) for row in rows))
        self.wait_known(topic, len(rows))

    # Brokers hear of a change one after the other, after the controller: what holds on one need not yet hold on another.

    def addresses(self):
        """Of the brokers that run."""
        return ["127.0.0.1:%d" % row["port"] for row in self.status().values() if row["state"] == "running"]

    def told(self, topic):
        """What each broker that runs tells of the topic: its partitions in order, [] when it does not know the topic, None
        while it does not answer."""
        def ask(address):
            try:
                code, found = protocol.metadata(address, topic)
            except OSError:
                return None  # it has just been started
            return [found[p] for p in sorted(found)] if code == 0 else []
        return [ask(address) for address in self.addresses()]

    def wait_told(self, what, topic, condition):
        """Until condition(partitions) holds of what every broker tells."""
        seen = []

        def look():
            seen[:] = self.told(topic)
            return all(partitions is not None and condition(partitions) for partitions in seen)
        try:
            wait_until("%s on every broker" % what, look)
        except AssertionError as error:
            raise AssertionError("%s; last told: %s" % (error, seen)) from None

    def wait_known(self, topic, count):
        """Until every broker tells the leaders of so many partitions."""
        self.wait_told("%d leaders of %s" % (count, topic), topic, lambda told: len(told) == count and all(
            p.leader >= 0 for p in told))

    def wait_gone(self, broker):
        """Until no broker, and so not the controller either, takes it for a live one."""
        wait_until("broker %d to be missed" % broker, lambda: not any(
            broker in protocol.brokers(address) for address in self.addresses()))

    def wait_settings(self, kind, name, expected):
        """Until every broker, and so the controller too, goes by these settings of a broker or a topic, and no others."""
        wait_until("settings %s of '%s' on every broker" % (expected, name), lambda: all(
            configs.describe(address, kind, name) == expected for address in self.addresses()))

    def wait_replicas(self, topic, *lists):
        self.wait_told("replicas %s of %s" % (lists, topic), topic, lambda told: [p.replicas for p in told] == list(lists))

    def wait_isr(self, topic, *rows):
        """In any order within a row."""
        expected = [sorted(row) for row in rows]
        self.wait_told("in-sync sets %s of %s" % (rows, topic), topic, lambda told: [sorted(p.isr) for p in told] == expected)

    def wait_leader(self, topic, *ids):
        """Until all brokers name the same leader of partition 0, one of these; returns which."""
        def agreed():
            leaders = {partitions[0].leader if partitions else None for partitions in self.told(topic)}
            return leaders if len(leaders) == 1 and leaders <= set(ids) else None
        return wait_until("one of %s to lead %s" % (ids, topic), agreed).pop()

    def wait_readable(self, topic, only=None):
        """Until the leader of each partition, or of one, knows how far those before it had committed: before, a reader
        finds an early end. A broker
        that has just started may not know the topic yet."""
        def is_readable():
            try:
                brokers, code, found = protocol.cluster(self.addresses()[0], topic)
                leaders = {p: brokers.get(found[p].leader) for p in found if only is None or p == only}
                return code == 0 and all(address is not None and protocol.latest_offset(address, topic, p)[0] == 0
                                         for p, address in leaders.items())
            except OSError:
                return False  # one has just been started, or is down, which the one that was asked has not heard
        wait_until("the ends of %s to be known" % topic, is_readable)

    def partitions(self, topic):
        """Waits until the broker that is asked knows the topic: it learns of a new one after the controller."""
        described = wait_until(topic + " to be known", lambda: self.describe(topic))
        return [p for t in described["topics"] for p in t["partitions"]]

    def describe(self, topic):
        """What `klamm topics describe` says; None while it fails."""
        result = self.cluster.admin("topics", "describe", topic, "--json", check=False)
        return json.loads(result.stdout) if result.returncode == 0 else None

    def produce(self, topic, lines, *options):
        """Each line once, in order: what a leader took and left unanswered when it went is not taken again."""
        kcat("-b", self.cluster.bootstrap, "-t", topic, "-P", "-X", "acks=all", "-X", "enable.idempotence=true", *options,
             text="\n".join(lines) + "\n")

    def consume(self, topic, *options):
        """All records of the topic, as lines. A broker that has just started may not know the topic yet."""
        self.wait_readable(topic, int(options[options.index("-p") + 1]) if "-p" in options else None)
        results = []

        def is_known():
            results.append(kcat("-b", self.cluster.bootstrap, "-t", topic, "-C", "-e", "-q", "-o", "beginning", *options,
                                check=False))
            return "Unknown topic" not in results[-1].stderr
        wait_until("a broker that knows %s" % topic, is_known)
        self.assertEqual(results[-1].returncode, 0, results[-1].stderr)
        return results[-1].stdout.splitlines()

    def plan(self, entries, **more):
        """A plan file of {(topic, partition): replicas}; more: further keys of each entry."""
        handle, path = tempfile.mkstemp(suffix=".json", dir=self.cluster.root)
        with os.fdopen(handle, "w") as file:
            json.dump({"version": 1, "partitions": [{"topic": t, "partition": p, "replicas": r, **more}
                                                    for (t, p), r in entries.items()]}, file)
        return path

    def status(self):
        """What `klamm dev status` tells, {id: row}."""
        return {b["id"]: b for b in json.loads(self.cluster.dev("status", "--json").stdout)["brokers"]}

    def address(self, broker):
        return "127.0.0.1:%d" % self.status()[broker]["port"]

    def controller(self):
        """The id of the active controller, waited for."""
        return wait_until("a controller", lambda: [b for b, row in self.status().items() if row["is_controller"]])[0]

    def folders(self, topic, partition=0):
        """Ids of the brokers that have something of the partition on disk, deleted or not."""
        start = "%s-%d" % (topic, partition)
        return {b for b, row in self.status().items()
                if any(name == start or name.startswith(start + ".") for name in os.listdir(row["directory"]))}

    def log_bytes(self, topic, broker, partition=0):
        """Size of the partition's records on that broker; 0 without any."""
        folder = os.path.join(self.status()[broker]["directory"], "%s-%d" % (topic, partition))
        if not os.path.isdir(folder):
            return 0
        return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".log"))
