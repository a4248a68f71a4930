"""DescribeConfigs and AlterConfigs by hand: a second opinion on what the brokers hold, without klamm's own client."""

import socket
import struct

TOPIC = 2
BROKER = 4
TIMEOUT_SECONDS = 60


def text(value):
    """A nullable string of the protocol's older form."""
    if value is None:
        return struct.pack(">h", -1)
    data = value.encode()
    return struct.pack(">h", len(data)) + data


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0]

    def text(self):
        size = self.take("h")
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size:self.at].decode()


def call(address, key, version, body):
    """Sends one request to "host:port"; returns a reader behind the answer's header."""
    host, port = address.rsplit(":", 1)
    request = struct.pack(">hhi", key, version, 7) + text("configs.py") + body
    with socket.create_connection((host, int(port)), TIMEOUT_SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + struct.unpack_from(">i", answer)[0]:
            part = connection.recv(65536)
            if not part:
                raise AssertionError("%s closed the connection" % address)
            answer += part
    reader = Reader(answer[4:])
    assert reader.take("i") == 7
    return reader


def describe(address, kind, name):
    """The settings of a topic or broker that are not defaults or from the file: {name: value}."""
    answer = call(address, 32, 1, struct.pack(">ib", 1, kind) + text(name) + struct.pack(">ib", -1, 0))
    answer.take("i")  # throttle time
    assert answer.take("i") == 1
    code, message = answer.take("h"), answer.text()
    assert code == 0, (code, message)
    answer.take("b")
    answer.text()
    found = {}
    for _ in range(answer.take("i")):
        key, value = answer.text(), answer.text()
        answer.take("b")
        source = answer.take("b")
        answer.take("b")
        for _ in range(answer.take("i")):
            answer.text(), answer.text(), answer.take("b")
        if source in (1, 2, 3):
            found[key] = value
    return found

def replace(address, kind, name, settings):
    """AlterConfigs: these settings and no others. Returns the error code."""
    body = struct.pack(">ib", 1, kind) + text(name) + struct.pack(">i", len(settings))
    body += b"".join(text(key) + text(value) for key, value in settings.items()) + struct.pack(">b", 0)
    answer = call(address, 33, 1, body)
    answer.take("i")
    assert answer.take("i") == 1
    return answer.take("h")
