"""What a broker tells of its replicas to those who ask for more: the tagged fields of DescribeLogDirs."""

import struct

import protocol

DESCRIBE_LOG_DIRS = 35


def tag(number, data):
    return protocol.varint(number) + protocol.varint(len(data)) + data


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
