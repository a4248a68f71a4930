"""Metrics, health and status over HTTP with real brokers and clients: rows 71 and 72 of the reassignment specification's
section 15 and the field scenario S20, with exact numbers.

A slow move is throttled to 1000 B/s: it stands still as far as a test is concerned, until it is let go.
"""

import json
import os
import re
import socket
import unittest

import configs
import metrics
import protocol
from support import ClusterTest, wait_until

LINES = ["line %06d %s" % (i, "payload " * 25) for i in range(20000)]  # 4 MB
SMALL = ("-X", "batch.size=16384", "-X", "compression.codec=none")
SLOW = ("--additional", "--throttle", "1000")
BROKERS = range(1, 7)
DOCUMENT = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "metrics.md")
MANAGER = "kafka_server_replicamanager_"
TOPICS = "kafka_server_brokertopicmetrics_"
CONTROLLER = "kafka_controller_kafkacontroller_"


class Metrics(ClusterTest):
    brokers = 6
    options = ("--http-port", "0", "--set", "log.segment.delete.delay.ms=500")

    # ---- looking ----

    def port(self, broker):
        return self.status()[broker]["http_port"]

    def scrape(self, broker):
        return metrics.scrape(self.port(broker))

    def running(self):
        return [b for b, row in self.status().items() if row["state"] == "running"]

    def gauge(self, name):
        """The gauge of every broker that runs: {broker: value}, without zeros."""
        values = {b: self.scrape(b).value(name) for b in self.running()}
        return {b: v for b, v in values.items() if v != 0}

    def grown(self, name, before):
        """How much a counter grew at each broker where it did, since gauge() said `before`: other tests count too."""
        grown = {b: v - before.get(b, 0) for b, v in self.gauge(name).items()}
        return {b: v for b, v in grown.items() if v != 0}

    def wait_gauge(self, name, expected):
        wait_until("%s to be %s" % (name, expected), lambda: self.gauge(name) == expected)

    def under_replicated(self, topic):
        """The brokers that tell topic-0 to be under-replicated."""
        name, labels = "kafka_cluster_partition_underreplicated", {"topic": topic, "partition": 0}
        key = (name, tuple(sorted((k, str(v)) for k, v in labels.items())))
        return [b for b in self.running() if self.scrape(b).values.get(key) == 1]

    # ---- moving ----

    def move(self, topic, row, *options):
        self.cluster.admin("reassign", "--execute", "--reassignment-json-file", self.plan({(topic, 0): row}), *options)

    def let_go(self, topic):
        self.assertEqual(configs.replace(self.address(1), configs.TOPIC, topic, {}), 0)

    def wait_moved(self, topic, replicas):
        self.wait_replicas(topic, replicas)
        self.wait_isr(topic, replicas)

    def create(self, topic, *rows):
        super().create(topic, *rows)
        self.topics.append(topic)

    def setUp(self):
        self.topics = []

    def tearDown(self):
        """Gauges start from zero in each test."""
        for topic in self.topics:
            self.cluster.admin("topics", "delete", topic)
        self.wait_gauge(MANAGER + "partitioncount", {})

    # ---- rows ----

    def test_rows_71_and_72_a_growing_partition_is_not_under_replicated(self):
        self.create("grows", [1, 2, 3])
        self.produce("grows", LINES, *SMALL)
        bytes_in, bytes_out = (self.gauge(TOPICS + "reassignmentbytes%s_total" % way) for way in ("in", "out"))
        self.move("grows", [1, 2, 3, 4], *SLOW)
        self.wait_gauge(MANAGER + "reassigningpartitions", {1: 1})
        self.assertEqual(self.gauge(MANAGER + "underreplicatedpartitions"), {})
        self.assertEqual(self.under_replicated("grows"), [])
        wait_until("bytes that 4 takes", lambda: self.grown(TOPICS + "reassignmentbytesin_total", bytes_in))
        self.assertEqual(list(self.grown(TOPICS + "reassignmentbytesin_total", bytes_in)), [4])
        self.assertEqual(list(self.grown(TOPICS + "reassignmentbytesout_total", bytes_out)), [1])
        self.assertEqual(self.gauge(MANAGER + "leadercount"), {1: 1})
        self.assertEqual(self.gauge(MANAGER + "partitioncount"), {1: 1, 2: 1, 3: 1, 4: 1})

        self.cluster.dev("stop", "3")
        try:
            self.wait_gauge(MANAGER + "underreplicatedpartitions", {1: 1})
            self.assertEqual(self.under_replicated("grows"), [1])
            self.assertEqual(self.gauge(MANAGER + "reassigningpartitions"), {1: 1})
            self.let_go("grows")
            self.wait_isr("grows", [1, 2, 4])
            self.wait_gauge(MANAGER + "underreplicatedpartitions", {})  # 4 masks 3
            self.assertEqual(self.gauge(MANAGER + "reassigningpartitions"), {1: 1})
        finally:
            self.cluster.dev("start", "3")
        self.wait_moved("grows", [1, 2, 3, 4])
        self.wait_gauge(MANAGER + "reassigningpartitions", {})
        self.assertEqual(self.gauge(MANAGER + "underreplicatedpartitions"), {})

    def test_s20_a_move_tells_what_it_copies_and_no_alarm(self):
        self.create("orders", [1, 2, 3])
        self.produce("orders", LINES, *SMALL)
        before = {b: self.scrape(b) for b in BROKERS}
        self.move("orders", [1, 2, 4], *SLOW)
        self.wait_gauge(MANAGER + "reassigningpartitions", {1: 1})
        self.assertEqual(self.gauge(MANAGER + "underreplicatedpartitions"), {})
        self.assertEqual(self.cluster.admin("topics", "describe", "--under-replicated-partitions").stdout, "")
        self.let_go("orders")
        self.wait_moved("orders", [1, 2, 4])
        self.wait_gauge(MANAGER + "reassigningpartitions", {})

        def rise(broker, name):
            return self.scrape(broker).value(TOPICS + name) - before[broker].value(TOPICS + name)
        size = self.log_bytes("orders", 1)
        came, went = rise(4, "reassignmentbytesin_total"), rise(1, "reassignmentbytesout_total")
        self.assertEqual(came, size)
        self.assertLess(abs(went - came), 0.05 * came)
        self.assertEqual(came, rise(4, "replicationbytesin_total"))
        for broker in (1, 2, 3, 5, 6):
            self.assertEqual(rise(broker, "reassignmentbytesin_total"), 0)
        for broker in (2, 3, 4, 5, 6):
            self.assertEqual(rise(broker, "reassignmentbytesout_total"), 0)

        self.cluster.dev("stop", "2")
        try:
            self.wait_gauge(MANAGER + "underreplicatedpartitions", {1: 1})
        finally:
            self.cluster.dev("start", "2")
        self.wait_gauge(MANAGER + "underreplicatedpartitions", {})

    def test_s20_partitions_that_only_grow_or_shrink_are_moving(self):
        self.create("shrinks", [1, 2, 3])
        self.produce("shrinks", LINES[:10], *SMALL)
        self.cluster.dev("kill", "2")  # what only removes waits for a member that is down
        try:
            self.wait_isr("shrinks", [1, 3])
            # The command line would refuse a plan that names a broker that is down.
            answer = protocol.alter(self.address(self.controller()), {"shrinks": {0: [1, 2]}})
            self.assertEqual(answer, (0, {("shrinks", 0): 0}))
            self.wait_gauge(MANAGER + "reassigningpartitions", {1: 1})
            self.assertEqual(self.gauge(MANAGER + "underreplicatedpartitions"), {1: 1})
        finally:
            self.cluster.dev("start", "2")
        self.wait_moved("shrinks", [1, 2])
        self.wait_gauge(MANAGER + "reassigningpartitions", {})

    # ---- each move ----

    def test_the_controller_tells_how_each_move_stands(self):
        self.create("watched-1", [1, 2])
        self.produce("watched-1", LINES, *SMALL)
        size = self.log_bytes("watched-1", 1)
        self.move("watched-1", [1, 3], *SLOW)
        active = self.controller()
        here = {"topic": "watched-1", "partition": 0}

        def key(name, **labels):
            return name, tuple(sorted((k, str(v)) for k, v in {**here, **labels}.items()))

        def told(name, **labels):
            return self.scrape(active).values.get(key(name, **labels))
        wait_until("the size", lambda: told("klamm_move_bytes_to_copy") == size)
        page = wait_until("the first bytes", lambda: [page for page in [self.scrape(active)]
                                                      if page.values.get(key("klamm_move_bytes_copied"))])[0]
        copied = page.values[key("klamm_move_bytes_copied")]
        self.assertLess(copied, size)
        self.assertEqual(page.values[key("klamm_move_lag_bytes", broker=3)], size - copied)
        self.assertEqual(self.gauge("klamm_moves_running"), {active: 1})
        self.assertGreater(told("klamm_move_age_seconds"), 0)
        status = json.loads(metrics.get(self.port(active), "/status")[2])["moves"]
        self.assertEqual((status["count"], [(m["topic"], m["bytes_to_copy"]) for m in status["running"]]),
                         (1, [("watched-1", size)]))
        other = next(b for b in (4, 5, 6) if b != active)
        self.assertIsNone(json.loads(metrics.get(self.port(other), "/status")[2])["moves"]["count"])

        # A controller on the target would move away with it; the reason is told by the next one.
        self.cluster.dev("kill", "3")
        try:
            def reason():
                active = self.controller()
                name, labels = "klamm_moves_by_reason", (("reason", "target down"),)
                return self.scrape(active).values.get((name, labels)) == 1
            wait_until("the reason", reason)
            active = self.controller()
            self.assertGreaterEqual(told("klamm_move_reason_seconds", reason="target down"), 0)
            self.assertIsNone(told("klamm_move_eta_seconds"))
        finally:
            self.cluster.dev("start", "3")
        self.let_go("watched-1")
        self.wait_moved("watched-1", [1, 3])
        wait_until("the move to be gone", lambda: told("klamm_move_age_seconds") is None)

    def test_a_job_is_told_as_the_command_line_tells_it(self):
        self.create("queued-1", [1, 2])
        self.produce("queued-1", LINES, *SMALL)
        path = self.plan({("queued-1", 0): [1, 3]})
        self.cluster.admin("moves", "submit", path, "--yes", "--throttle", "20000", "--job", "told")
        active = self.controller()

        def told():
            jobs = json.loads(metrics.get(self.port(active), "/status")[2])["jobs"]
            self.assertEqual(jobs["count"], len(jobs["listed"]))
            return {job["id"]: job for job in jobs["listed"]}

        def shown():
            jobs = json.loads(self.cluster.admin("moves", "status", "--json").stdout)["jobs"]
            return {job["id"]: job for job in jobs}
        wait_until("bytes that are copied", lambda: told()["told"]["bytes_copied"])
        job, other = told()["told"], shown()["told"]
        self.assertEqual((job["state"], job["submitted_by"], job["throttle"], job["bytes_to_copy"], job["moves"]["total"]),
                         (other["state"], other["submitted_by"], other["rate"], other["bytes_to_copy"], other["moves"]))
        self.assertEqual((job["moves"]["running"], job["moves"]["done"], job["reason"]), (1, 0, None))
        self.assertLess(job["bytes_copied"], job["bytes_to_copy"])
        wait_until("a rate and a time left", lambda: told()["told"]["rate"] and told()["told"]["eta_ms"])
        self.cluster.admin("moves", "pause", "--job", "told")
        wait_until("all paused", lambda: (told()["told"]["state"], told()["told"]["reason"]) == ("paused", "paused"))
        job = told()["told"]
        self.assertEqual((job["moves"]["paused"], job["eta_ms"]), (1, None))
        self.cluster.admin("moves", "cancel", "--job", "told")
        wait_until("no job", lambda: told() == {})
        other = next(b for b in (4, 5, 6) if b != active)
        self.assertEqual(json.loads(metrics.get(self.port(other), "/status")[2])["jobs"], {"count": None, "listed": []})
        self.wait_replicas("queued-1", [1, 2])

    # ---- the rest ----

    def test_the_text_is_what_prometheus_takes_and_what_is_documented(self):
        self.create("listed", [1, 2])
        self.produce("listed", LINES[:100])
        with open(DOCUMENT, encoding="utf-8") as file:
            documented = dict(re.findall(r"^\| `(k\w+)` \| (\w+) \|", file.read(), re.MULTILINE))
        for broker in BROKERS:
            self.assertEqual(self.scrape(broker).kinds, documented)

    def test_clients_are_counted(self):
        self.create("counted", [5, 6])
        before = {b: self.scrape(b) for b in (5, 6)}
        self.produce("counted", LINES[:1000], *SMALL)
        self.assertEqual(len(self.consume("counted")), 1000)
        after = self.scrape(5)
        rise = {name: after.value(TOPICS + name) - before[5].value(TOPICS + name)
                for name in ("messagesin_total", "bytesin_total", "bytesout_total", "replicationbytesout_total")}
        size = self.log_bytes("counted", 5)
        self.assertEqual(rise["messagesin_total"], 1000)
        self.assertEqual(rise["bytesin_total"], size)
        self.assertGreaterEqual(rise["bytesout_total"], size)
        self.assertEqual(after.value("kafka_log_log_size", topic="counted", partition=0), size)
        self.assertEqual(after.value("kafka_log_log_logendoffset", topic="counted", partition=0), 1000)
        for request in ("Produce", "Fetch", "ApiVersions"):
            name = "kafka_network_requestmetrics_requests_total"
            self.assertGreater(after.value(name, request=request), before[5].value(name, request=request))

        def copied():
            return self.scrape(6).value(TOPICS + "replicationbytesin_total") - before[6].value(TOPICS + "replicationbytesin_total")
        wait_until("the copy", lambda: copied() == size)
        self.assertEqual(rise["replicationbytesout_total"], size)

    def test_the_controller_tells_of_the_cluster(self):
        active = self.controller()
        self.assertEqual(self.gauge(CONTROLLER + "activecontrollercount"), {active: 1})
        self.wait_gauge(CONTROLLER + "activebrokercount", {active: 6})
        down = 6 if active != 6 else 5
        other = 4 if active != 4 else 3
        self.create("alone", [down])
        self.create("pair", [down, other])
        self.wait_gauge(CONTROLLER + "globaltopiccount", {active: 2})
        self.assertEqual(self.gauge(CONTROLLER + "globalpartitioncount"), {active: 2})
        self.assertEqual(self.gauge(CONTROLLER + "offlinepartitionscount"), {})
        self.cluster.dev("stop", str(down))
        try:
            self.wait_gauge(CONTROLLER + "offlinepartitionscount", {active: 1})
            self.wait_gauge(CONTROLLER + "preferredreplicaimbalancecount", {active: 2})
            self.wait_gauge(CONTROLLER + "activebrokercount", {active: 5})
        finally:
            self.cluster.dev("start", str(down))
        self.wait_gauge(CONTROLLER + "offlinepartitionscount", {})

    def test_health_and_status_tell_how_a_broker_is(self):
        self.create("shown", [1, 2], [2, 1])
        status, headers, text = metrics.get(self.port(1), "/healthz")
        self.assertEqual((status, text, headers["content-type"]), (200, "running\n", "text/plain; charset=utf-8"))

        def shown():
            status, headers, text = metrics.get(self.port(1), "/status")
            self.assertEqual((status, headers["content-type"]), (200, "application/json"))
            return json.loads(text)
        wait_until("both partitions", lambda: shown()["partitions"]["followed"] == 1)
        found = shown()
        row = self.status()[1]
        self.assertEqual((found["broker"], found["state"], found["broker_epoch"]), (1, "running", row["epoch"]))
        self.assertEqual(found["controller"], self.controller())
        self.assertEqual(found["is_controller"], self.controller() == 1)
        partitions = found["partitions"]
        self.assertEqual((partitions["hosted"], partitions["led"], partitions["offline"]), (2, 1, 0))
        self.assertEqual([d["path"] for d in found["log_dirs"]], [row["directory"]])
        self.assertEqual(found["log_dirs"][0]["logs"], 2)

    def test_strange_requests_hurt_nobody(self):
        port = self.port(3)
        self.assertEqual(metrics.get(port, "/nowhere")[0], 404)
        self.assertEqual(metrics.get(port, "/metrics", "POST")[0], 405)
        self.assertEqual(metrics.get(port, "/metrics", "HEAD")[2], "")
        silent = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(40)]
        try:
            for text in (b"\x00" * 1000, b"GET /metrics HTTP/9.9\r\n\r\n", b"GET " + b"/x" * 20000 + b" HTTP/1.1\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                    try:
                        connection.sendall(text)
                        while connection.recv(4096):
                            pass
                    except ConnectionError:
                        pass  # closed before it had read everything
            self.assertEqual(self.scrape(3).value("kafka_server_kafkaserver_brokerstate"), 3)
        finally:
            for connection in silent:
                connection.close()


if __name__ == "__main__":
    unittest.main()
