"""The queue of moves over the protocol by hand: the tagged fields of requests 45 and 46."""

import struct

from protocol import call, compact_array, compact_text, varint

ALTER, SUBMIT, PAUSE, RESUME, CANCEL, SETTINGS, UNDO = range(7)
QUEUED, RUNNING, PAUSED, DONE, CANCELLED = range(5)
NOTE_QUEUED = 1
NOT_CONTROLLER = 41


def tag(number, data):
    return varint(number) + varint(len(data)) + data


def tags_of(**fields):
    """The tagged fields of request 45, in the order of their numbers."""
    made = [tag(10000, b"\1")]
    if fields.get("force"):
        made.append(tag(10001, b"\1"))
    if fields.get("action"):
        made.append(tag(10002, struct.pack(">b", fields["action"])))
    if fields.get("job") is not None:
        made.append(tag(10003, compact_text(fields["job"])))
    if "rate" in fields:
        made.append(tag(10004, struct.pack(">q", fields["rate"])))
    if "priority" in fields:
        made.append(tag(10005, struct.pack(">b", fields["priority"])))
    if fields.get("one_at_a_time"):
        made.append(tag(10006, b"\1"))
    if fields.get("brokers"):
        made.append(tag(10007, compact_array([struct.pack(">i", b) for b in fields["brokers"]])))
    if fields.get("validate_only"):
        made.append(tag(10008, b"\1"))
    return varint(len(made)) + b"".join(made)


def alter_body(topics, **fields):
    return struct.pack(">i", 30000) + compact_array([
        compact_text(topic) + compact_array([
            struct.pack(">i", partition) +
            compact_array(None if replicas is None else [struct.pack(">i", r) for r in replicas]) + b"\0"
            for partition, replicas in partitions.items()]) + b"\0"
        for topic, partitions in topics.items()]) + tags_of(**fields)


def read_tags(answer, readers):
    """{number: value} of the tagged fields here; those without a reader are passed over."""
    found = {}
    for _ in range(answer.varint()):
        number, size = answer.varint(), answer.varint()
        end = answer.at + size
        if number in readers:
            found[number] = readers[number]()
        answer.at = end
    return found


def alter(address, topics=None, **fields):
    """(top-level code, job, {(topic, partition): (code, note)})."""
    answer = call(address, 45, 0, alter_body(topics or {}, **fields), True)
    answer.take("i")
    code = answer.take("h")
    answer.compact_text()
    found = {}
    for _ in range(answer.varint() - 1):
        topic = answer.compact_text()
        for _ in range(answer.varint() - 1):
            partition = answer.take("i")
            error = answer.take("h")
            answer.compact_text()
            note = read_tags(answer, {10000: lambda: answer.take("b")}).get(10000, 0)
            found[topic, partition] = (error, note)
        answer.tags()
    job = read_tags(answer, {10000: answer.compact_text}).get(10000)
    return code, job, found


def ids(answer):
    return answer.compact_array(lambda: answer.take("i"))


def adding(answer):
    values = [answer.take(form) for form in ("i", "b", "q", "q", "b", "h", "q")]
    answer.tags()
    return dict(zip(("broker", "state", "lag_bytes", "lag_offsets", "reason", "reason_error", "since_ms"), values))


def details(answer):
    if answer.take("b") < 0:
        return None
    found = {"job": answer.compact_text(), "submitted_by": answer.compact_text(), "client_id": answer.compact_text(),
             "started_ms": answer.take("q"), "original": ids(answer)}
    for name, form in (("bytes_to_copy", "q"), ("bytes_copied", "q"), ("rate", "q"), ("eta_ms", "q"), ("reason", "b"),
                       ("reason_error", "h"), ("since_ms", "q")):
        found[name] = answer.take(form)
    found["adding"] = answer.compact_array(lambda: adding(answer))
    answer.tags()
    return found


def job(answer):
    found = {"id": answer.compact_text(), "submitted_by": answer.compact_text(), "client_id": answer.compact_text()}
    for name, form in (("submitted_ms", "q"), ("state", "b"), ("rate", "q"), ("priority", "b"), ("one_at_a_time", "b"),
                       ("total", "i"), ("done", "i"), ("cancelled", "i"), ("bytes_to_copy", "q"), ("bytes_copied", "q")):
        found[name] = answer.take(form)
    answer.tags()
    return found


def queued_partition(answer):
    found = {"partition": answer.take("i"), "target": ids(answer), "job": answer.compact_text()}
    for name, form in (("state", "b"), ("reason", "b"), ("since_ms", "q"), ("bytes_to_copy", "q")):
        found[name] = answer.take(form)
    answer.tags()
    return found


def queued_topic(answer):
    found = (answer.compact_text(), answer.compact_array(lambda: queued_partition(answer)))
    answer.tags()
    return found


def status(address):
    """{"moving": {(topic, partition): details}, "jobs": {id: job}, "queued": {(topic, partition): row}}; None of a broker
    that is not the controller."""
    body = struct.pack(">i", 30000) + compact_array(None) + varint(1) + tag(10000, b"\1")
    answer = call(address, 46, 0, body, True)
    answer.take("i")
    code = answer.take("h")
    if code == NOT_CONTROLLER:
        return None
    assert code == 0, code
    answer.compact_text()
    moving = {}
    for _ in range(answer.varint() - 1):
        topic = answer.compact_text()
        for _ in range(answer.varint() - 1):
            partition = answer.take("i")
            lists = [ids(answer) for _ in range(3)]
            row = read_tags(answer, {10000: lambda: details(answer)}).get(10000) or {}
            row["replicas"], row["adding_replicas"], row["removing_replicas"] = lists
            moving[topic, partition] = row
        answer.tags()
    found = read_tags(answer, {10000: lambda: answer.compact_array(lambda: job(answer)),
                               10001: lambda: answer.compact_array(lambda: queued_topic(answer))})
    queued = {(topic, row["partition"]): row for topic, rows in found.get(10001, []) for row in rows}
    return {"moving": moving, "jobs": {row["id"]: row for row in found.get(10000, [])}, "queued": queued}
