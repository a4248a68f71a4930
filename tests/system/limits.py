"""Limits of moves, told to brokers as their controller tells them: UpdateMetadata with a table, and no partitions."""

import re
import struct

import protocol

UPDATE_METADATA = 6
DESCRIBE_LOG_DIRS = 35


def tag(number, data):
    return protocol.varint(number) + protocol.varint(len(data)) + data


def table(groups):
    """groups: [(rate, {topic: partitions})]."""
    def topics(names):
        return protocol.compact_array([protocol.compact_text(t) + protocol.compact_array([struct.pack(">i", p) for p in ps]) +
                                       b"\0" for t, ps in names.items()])
    return protocol.compact_array([struct.pack(">q", rate) + topics(names) + b"\0" for rate, names in groups])


def controller_epoch(cluster):
    """By the brokers' log."""
    with open(cluster.log_path, encoding="utf-8", errors="replace") as log:
        return max(int(epoch) for epoch in re.findall(r"controller with epoch (\d+)", log.read()))


def tell(cluster_test, groups):
    """The table for every running broker, in the name of the present controller."""
    controller = cluster_test.controller()
    epoch = controller_epoch(cluster_test.cluster)
    running = {b: row for b, row in cluster_test.status().items() if row["state"] == "running"}
    live = [struct.pack(">i", b) + protocol.compact_array(
        [struct.pack(">i", row["port"]) + protocol.compact_text("127.0.0.1") + protocol.compact_text("PLAINTEXT") +
         struct.pack(">h", 0) + b"\0"]) + b"\0\0" for b, row in sorted(running.items())]
    body = struct.pack(">ibiq", controller, 0, epoch, -1) + protocol.compact_array([]) + protocol.compact_array(live)
    body += protocol.varint(1) + tag(10000, table(groups))
    for row in running.values():
        reader = protocol.call("127.0.0.1:%d" % row["port"], UPDATE_METADATA, 8, body, is_flexible=True)
        error = reader.take("h")
        assert error == 0, error


def details(address, topic, partition):
    """What the broker tells of its replica to those who ask for more; None when it has none."""
    body = protocol.compact_array([protocol.compact_text(topic) + protocol.compact_array([struct.pack(">i", partition)]) + b"\0"])
    body += protocol.varint(1) + tag(10000, b"\1")
    reader = protocol.call(address, DESCRIBE_LOG_DIRS, 4, body, is_flexible=True)
    reader.take("i")
    assert reader.take("h") == 0
    found = []

    def one_partition():
        reader.take("i")
        row = {"size": reader.take("q")}
        reader.take("q"), reader.take("b")
        assert reader.varint() == 1
        assert (reader.varint(), reader.varint() > 0, reader.take("b")) == (10000, True, 1)
        row.update(zip(("error", "is_throttled", "throttle_rate", "write_rate", "log_start", "log_end", "is_leader",
                        "is_disk_full"), (reader.take(form) for form in "h?qqqq??")))
        reader.tags()
        found.append(row)

    def one_topic():
        reader.compact_text()
        reader.compact_array(one_partition)
        reader.tags()

    def one_directory():
        reader.take("h"), reader.compact_text()
        reader.compact_array(one_topic)
        reader.take("q"), reader.take("q"), reader.tags()

    reader.compact_array(one_directory)
    return found[0] if found else None
