"""DescribeConfigs and AlterConfigs by hand."""

import struct

from protocol import call, text

TOPIC = 2
BROKER = 4


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
