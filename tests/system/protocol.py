"""Kafka's protocol by hand: a second opinion on what brokers answer, without klamm's own client."""

import base64
import collections
import socket
import struct

TIMEOUT_SECONDS = 60


def text(value):
    """A nullable string of the protocol's older form."""
    if value is None:
        return struct.pack(">h", -1)
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def array(items):
    """An array of the older form; the items are encoded."""
    return struct.pack(">i", len(items)) + b"".join(items)


def varint(value):
    """An unsigned one."""
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def zigzag(value):
    """A signed one, as in records."""
    return varint((value << 1) ^ (value >> 63))


def compact_text(value):
    data = value.encode()
    return varint(len(data) + 1) + data


def compact_array(items):
    """Nullable array of the flexible form; the items are encoded, with their tagged fields."""
    return varint(0) if items is None else varint(len(items) + 1) + b"".join(items)


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0]

    def bytes(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def text(self):
        size = self.take("h")
        return None if size < 0 else self.bytes(size).decode()

    def array(self, item):
        """The items, each read by item(); null is read as empty."""
        return [item() for _ in range(self.take("i"))]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take("B")
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def compact_text(self):
        size = self.varint()
        return None if size == 0 else self.bytes(size - 1).decode()

    def compact_array(self, item):
        return [item() for _ in range(max(self.varint() - 1, 0))]

    def tags(self):
        """The numbers of the tagged fields at this place, passed over."""
        found = []
        for _ in range(self.varint()):
            found.append(self.varint())
            self.bytes(self.varint())
        return found


class Connection:
    """To "host:port". Requests may be sent ahead; answers come in their order."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.address = address
        self.socket = socket.create_connection((host, int(port)), TIMEOUT_SECONDS)
        self.sent = 0
        self.received = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, key, version, body, is_flexible=False):
        self.sent += 1
        header = struct.pack(">hhi", key, version, self.sent) + text("protocol.py") + (b"\0" if is_flexible else b"")
        self.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)

    def _bytes(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise AssertionError("%s closed the connection" % self.address)
            data += part
        return data

    def receive(self, is_flexible=False):
        """A reader behind the header of the next answer."""
        reader = Reader(self._bytes(struct.unpack(">i", self._bytes(4))[0]))
        self.received += 1
        assert reader.take("i") == self.received
        if is_flexible:
            reader.tags()
        return reader


def call(address, key, version, body, is_flexible=False):
    """One request on a connection of its own; a reader behind the answer's header."""
    with Connection(address) as connection:
        connection.send(key, version, body, is_flexible)
        return connection.receive(is_flexible)


# ---- records ----

def crc32c_table():
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ (0x82F63B78 if crc & 1 else 0) for crc in table]
    return table


CRC32C_TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC32C_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def batch(value):
    """A record batch of one record without a key."""
    record = b"\0" + zigzag(0) + zigzag(0) + zigzag(-1) + zigzag(len(value)) + value + zigzag(0)
    rest = struct.pack(">hiqqqhii", 0, 0, 1_600_000_000_000, 1_600_000_000_000, -1, -1, -1, 1) + zigzag(len(record)) + record
    return struct.pack(">qiibI", 0, len(rest) + 9, -1, 2, crc32c(rest)) + rest


# ---- requests ----

def produce_body(topic, partition, value, acks=-1, timeout_ms=30000):
    records = batch(value)
    part = struct.pack(">ii", partition, len(records)) + records
    return text(None) + struct.pack(">hi", acks, timeout_ms) + array([text(topic) + array([part])])


def produce_error(reader):
    """Of the only partition; version 3."""
    assert reader.take("i") == 1
    reader.text()
    assert reader.take("i") == 1
    reader.take("i")
    return reader.take("h")


def produce(address, topic, partition, value, **options):
    return produce_error(call(address, 0, 3, produce_body(topic, partition, value, **options)))


def fetch_body(topic, partition, offset, wait_ms=0):
    part = struct.pack(">iqi", partition, offset, 1 << 20)
    return struct.pack(">iiiib", -1, wait_ms, 1, 1 << 20, 0) + array([text(topic) + array([part])])


def fetch_error(reader):
    """Of the only partition; version 4."""
    reader.take("i")
    assert reader.take("i") == 1
    reader.text()
    assert reader.take("i") == 1
    reader.take("i")
    return reader.take("h")


def fetch(address, topic, partition, offset, **options):
    return fetch_error(call(address, 1, 4, fetch_body(topic, partition, offset, **options)))


def brokers(address):
    """The ids of the brokers that it knows to be alive; Metadata version 7."""
    answer = call(address, 3, 7, array([]) + b"\0")
    answer.take("i")
    return set(answer.array(lambda: (answer.take("i"), answer.text(), answer.take("i"), answer.text())[0]))


Partition = collections.namedtuple("Partition", "leader epoch replicas isr")


def cluster(address, topic):
    """({broker: "host:port"}, code, {partition: Partition}) of the topic; version 7, which makes no topic."""
    answer = call(address, 3, 7, array([text(topic)]) + b"\0")
    answer.take("i")
    rows = answer.array(lambda: (answer.take("i"), answer.text(), answer.take("i"), answer.text()))
    answer.text()
    answer.take("i")
    assert answer.take("i") == 1
    code = answer.take("h")
    answer.text()
    answer.take("b")
    found = {}
    for _ in range(answer.take("i")):
        answer.take("h")
        partition = answer.take("i")
        leader, epoch = answer.take("i"), answer.take("i")
        replicas, isr, _ = (answer.array(lambda: answer.take("i")) for _ in range(3))
        found[partition] = Partition(leader, epoch, replicas, isr)
    return {broker: "%s:%d" % (host, port) for broker, host, port, _ in rows}, code, found


def metadata(address, topic):
    """(code, {partition: Partition}) of the topic."""
    return cluster(address, topic)[1:]


def latest_offset(address, topic, partition):
    """(code, offset) of ListOffsets for the end of what may be read; version 5."""
    part = struct.pack(">iiq", partition, -1, -1)
    answer = call(address, 2, 5, struct.pack(">ib", -1, 0) + array([text(topic) + array([part])]))
    answer.take("i")
    assert (answer.take("i"), answer.text(), answer.take("i"), answer.take("i")) == (1, topic, 1, partition)
    code = answer.take("h")
    answer.take("q")
    return code, answer.take("q")


def create_partitions(address, counts):
    """{topic: error} for {topic: new count}."""
    return {topic: code for topic, (code, _) in create_partitions_told(address, counts).items()}


def create_partitions_told(address, counts):
    """{topic: (error, message)} for {topic: new count}; version 0."""
    topics = [text(topic) + struct.pack(">ii", count, -1) for topic, count in counts.items()]
    answer = call(address, 37, 0, array(topics) + struct.pack(">ib", 30000, 0))
    answer.take("i")
    rows = answer.array(lambda: (answer.text(), answer.take("h"), answer.text()))
    return {topic: (code, message) for topic, code, message in rows}


def alter_body(topics):
    """AlterPartitionReassignments, version 0, of {topic: {partition: replicas or None}}."""
    return struct.pack(">i", 30000) + compact_array([
        compact_text(topic) + compact_array([
            struct.pack(">i", partition) +
            compact_array(None if replicas is None else [struct.pack(">i", r) for r in replicas]) + b"\0"
            for partition, replicas in partitions.items()]) + b"\0"
        for topic, partitions in topics.items()]) + b"\0"


def alter(address, topics):
    """(top-level code, {(topic, partition): code})."""
    answer = call(address, 45, 0, alter_body(topics), True)
    answer.take("i")
    code = answer.take("h")
    answer.compact_text()
    found = {}
    for _ in range(answer.varint() - 1):
        topic = answer.compact_text()
        for _ in range(answer.varint() - 1):
            partition = answer.take("i")
            found[topic, partition] = answer.take("h")
            answer.compact_text()
            assert answer.tags() == []
        assert answer.tags() == []
    assert answer.tags() == []
    return code, found


def list_moves(address, topics=None):
    """(top-level code, {(topic, partition): (replicas, adding, removing)}) of {topic: partitions}, None: all."""
    wanted = None if topics is None else [
        compact_text(topic) + compact_array([struct.pack(">i", p) for p in partitions]) + b"\0"
        for topic, partitions in topics.items()]
    answer = call(address, 46, 0, struct.pack(">i", 30000) + compact_array(wanted) + b"\0", True)
    answer.take("i")
    code = answer.take("h")
    answer.compact_text()
    found = {}
    for _ in range(answer.varint() - 1):
        topic = answer.compact_text()
        for _ in range(answer.varint() - 1):
            partition = answer.take("i")
            found[topic, partition] = tuple(answer.compact_array(lambda: answer.take("i")) for _ in range(3))
            assert answer.tags() == []
        assert answer.tags() == []
    assert answer.tags() == []
    return code, found


def log_dirs(address):
    """{directory: (error, {(topic, partition): size})}; DescribeLogDirs, version 1."""
    answer = call(address, 35, 1, struct.pack(">i", -1))
    answer.take("i")
    found = {}
    for _ in range(answer.take("i")):
        code, directory = answer.take("h"), answer.text()
        logs = {}
        for _ in range(answer.take("i")):
            topic = answer.text()
            for _ in range(answer.take("i")):
                partition = answer.take("i")
                logs[topic, partition] = answer.take("q")
                answer.take("q")
                answer.take("b")
        found[directory] = (code, logs)
    return found


def controlled_shutdown(address, broker, epoch):
    """The code; version 2."""
    return call(address, 7, 2, struct.pack(">iq", broker, epoch)).take("h")


Proposal = collections.namedtuple("Proposal", "broker broker_epoch topic partition leader_epoch partition_epoch isr")


def alter_partition(address, version, proposal):
    """The code for the in-sync set that the leader proposes, of the whole or of the partition. The topic is its name in
    version 1 and its id, as ZooKeeper has it, in version 2."""
    p = proposal
    topic = compact_text(p.topic) if version < 2 else base64.urlsafe_b64decode(p.topic + "==")
    isr = compact_array([struct.pack(">i", broker) for broker in p.isr])
    partition = struct.pack(">ii", p.partition, p.leader_epoch) + isr + struct.pack(">bi", 0, p.partition_epoch) + b"\0"
    body = struct.pack(">iq", p.broker, p.broker_epoch) + compact_array([topic + compact_array([partition]) + b"\0"]) + b"\0"
    answer = call(address, 56, version, body, True)
    answer.take("i")
    code = answer.take("h")
    if answer.varint() < 2:
        return code
    if version < 2:
        answer.compact_text()
    else:
        answer.bytes(16)
    answer.varint()
    answer.take("i")
    return code or answer.take("h")
