"""librdkafka through kcat, with its default settings: every codec, keys, partitions, offsets, bad bytes beside it."""

import os
import re
import socket
import struct
import unittest

from support import ClusterTest, kcat, wait_until

READERS = 20
GROWTH_MB_MAX = 500  # sanitizers hold on to freed memory
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Kcat(ClusterTest):
    def test_lists_brokers_and_topics(self):
        self.create("listed", [1, 2], [2, 3])
        text = kcat("-b", self.cluster.bootstrap, "-L", "-t", "listed").stdout
        self.assertRegex(text, r"3 brokers:")
        self.assertRegex(text, r'topic "listed" with 2 partitions')
        self.assertRegex(text, r"partition 0, leader 1, replicas: 1,2, isrs: [12],[12]")

    def test_every_codec_round_trips(self):
        lines = ["%d %s" % (i, "text " * (i % 40)) for i in range(2000)]
        for codec in CODECS:
            topic = "codec-" + codec
            self.create(topic, [1, 2, 3])
            self.produce(topic, lines, "-z", codec)
            self.assertEqual(self.consume(topic), lines, codec)

    def test_compressed_batches_stay_compressed(self):
        self.create("stays", [1])
        self.produce("stays", ["x" * 1000] * 1000, "-z", "zstd")
        size = self.log_bytes("stays")
        self.assertGreater(size, 0)
        self.assertLess(size, 200_000)

    def log_bytes(self, topic):
        return sum(os.path.getsize(os.path.join(root, f)) for root, _, files in os.walk(self.cluster.directory)
                   for f in files if f.endswith(".log") and os.path.basename(root).startswith(topic + "-"))

    def test_idempotent_producer(self):
        lines = ["record %d" % i for i in range(5000)]
        self.create("idempotent", [3, 1, 2])
        self.produce("idempotent", lines, "-X", "enable.idempotence=true")
        self.assertEqual(self.consume("idempotent"), lines)

    def test_acks_zero_and_one(self):
        for acks in ("0", "1"):
            topic = "acks-" + acks
            self.create(topic, [2, 1])
            kcat("-b", self.cluster.bootstrap, "-t", topic, "-P", "-X", "acks=" + acks, text="a\nb\nc\n")
            wait_until("three records", lambda t=topic: self.consume(t) == ["a", "b", "c"])

    def test_keys_headers_and_timestamps_come_back(self):
        self.create("keyed", [1])
        kcat("-b", self.cluster.bootstrap, "-t", "keyed", "-P", "-K", ":", "-H", "h1=v1", text="k1:v1\nk2:v2\n")
        text = kcat("-b", self.cluster.bootstrap, "-t", "keyed", "-C", "-e", "-q", "-f", "%k=%s %h %T\\n").stdout
        rows = text.splitlines()
        self.assertEqual(len(rows), 2)
        for row, pair in zip(rows, ("k1=v1", "k2=v2")):
            self.assertTrue(row.startswith(pair + " h1=v1 "), row)
            self.assertGreater(int(row.split()[-1]), 1_600_000_000_000)

    def test_offsets_by_time(self):
        self.create("timed", [1])
        self.produce("timed", ["early"])
        text = kcat("-b", self.cluster.bootstrap, "-Q", "-t", "timed:0:0").stdout
        self.assertRegex(text, r"timed \[0\] offset 0")
        text = kcat("-b", self.cluster.bootstrap, "-Q", "-t", "timed:0:9999999999999").stdout
        self.assertRegex(text, r"timed \[0\] offset (-1|1)\b")

    def test_a_missing_topic_is_made_by_a_producer(self):
        self.produce("made-by-itself", ["one"])
        wait_until("the record", lambda: self.consume("made-by-itself") == ["one"])

    def test_garbage_closes_one_connection_and_hurts_nobody(self):
        self.create("unhurt", [1, 2, 3])
        host, port = self.cluster.bootstrap.split(",")[0].rsplit(":", 1)
        garbage = (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\x00\x00\x00\x05\xff\xff\xff\xff\xff", b"\x7f\xff\xff\xff",
                   b"\x80\x00\x00\x00", b"\x00\x00\x00\x00", os.urandom(4096))
        for bytes_ in garbage * 5:
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.settimeout(10)
                try:
                    connection.sendall(bytes_)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(4096):
                        pass
                except (ConnectionError, BrokenPipeError):
                    pass  # closed on us: as it should
        self.produce("unhurt", ["still here"])
        self.assertEqual(self.consume("unhurt"), ["still here"])
        self.assertTrue(re.search("3 brokers", kcat("-b", self.cluster.bootstrap, "-L").stdout))

    def resident_mb(self):
        with open("/proc/%d/status" % self.cluster.process.pid, encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) // 1024

    def test_clients_that_ask_and_never_read_cost_little(self):
        self.create("wide", *[[1]] * 2000)
        host, port = self.cluster.bootstrap.split(",")[0].rsplit(":", 1)
        question = struct.pack(">ihhihi", 14, 3, 1, 7, -1, -1) * 50  # Metadata of all topics
        before = self.resident_mb()
        connections = [socket.create_connection((host, int(port)), timeout=0.2) for _ in range(READERS)]
        self.addCleanup(lambda: [c.close() for c in connections])
        for connection in connections:
            try:
                while True:
                    connection.sendall(question)
            except TimeoutError:
                pass  # not read any more
        self.assertLess(self.resident_mb() - before, GROWTH_MB_MAX)
        self.produce("wide", ["still here"])
        self.assertEqual(self.consume("wide"), ["still here"])


if __name__ == "__main__":
    unittest.main()
