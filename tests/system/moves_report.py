"""What ListPartitionReassignments tells to those who ask for more (docs/protocol-extensions.md), read by hand."""

import struct

from protocol import call, varint

EXTENSIONS = 10000

# Reasons, by number.
(NONE, SLOT, TARGET_DOWN, DISK_FULL, DIR_OFFLINE, NO_LEADER, FETCH_ERROR, THROTTLED, MIN_ISR, OLD_REPLICAS,
 PAUSED, STAYING) = range(12)
# What an operator is told of each: why, in the row; and below the table a command that helps.
TEXTS = {
    SLOT: ("waiting for a slot", "klamm moves limits --in-per-broker"),
    TARGET_DOWN: (", down since", "klamm moves cancel --broker"),
    DISK_FULL: ("target disk full", "klamm moves cancel --broker"),
    DIR_OFFLINE: ("target log dir offline", "klamm moves cancel --broker"),
    NO_LEADER: ("leader unknown", "klamm topics describe"),
    FETCH_ERROR: ("fetch error", "klamm moves cancel --partition"),
    THROTTLED: ("not converging", "klamm moves set --job"),
    MIN_ISR: ("below min ISR", "klamm topics describe"),
    OLD_REPLICAS: ("waiting for old replicas to stop", "klamm topics describe"),
    PAUSED: ("paused", "klamm moves resume"),
}
# States of an arriving replica.
UNKNOWN, COPYING, IN_SYNC, DOWN, FAILED, HELD = range(6)


def fields(answer, **forms):
    """A dictionary of values: "q" and the like as struct has them, "s" a text, "l" a list of ids."""
    read = {"s": answer.compact_text, "l": lambda: answer.compact_array(lambda: answer.take("i"))}
    return {name: read[form]() if form in read else answer.take(form) for name, form in forms.items()}


def details(answer):
    assert answer.take("b") == 1  # it is there
    found = fields(answer, job="s", submitted_by="s", client_id="s", started_ms="q", original="l", to_copy="q", copied="q",
                   rate="q", eta_ms="q", reason="b", error="h", since_ms="q")
    found["adding"] = {}
    for _ in range(answer.varint() - 1):
        broker = answer.take("i")
        found["adding"][broker] = fields(answer, state="b", lag_bytes="q", lag_offsets="q", reason="b", error="h",
                                         since_ms="q")
        found["adding"][broker]["ignores_limits"] = tagged(answer, {10000: lambda a: a.take("b") != 0}).get(10000, False)
    assert answer.tags() == []
    return found


def job(answer):
    found = fields(answer, id="s", submitted_by="s", client_id="s", submitted_ms="q", state="b", rate="q", priority="b",
                   one_at_a_time="b", total="i", done="i", cancelled="i", to_copy="q", copied="q")
    assert answer.tags() == []
    return found


def queued(answer):
    """{(topic, partition): move} of one topic."""
    topic = answer.compact_text()
    found = {}
    for _ in range(answer.varint() - 1):
        partition = answer.take("i")
        found[topic, partition] = fields(answer, target="l", job="s", state="b", reason="b", since_ms="q", to_copy="q")
        assert answer.tags() == []
    assert answer.tags() == []
    return found


def tagged(answer, readers):
    """{number: value} of the tagged fields at this place; all must be known."""
    found = {}
    for _ in range(answer.varint()):
        number = answer.varint()
        end = answer.varint() + answer.at
        found[number] = readers[number](answer)
        assert answer.at == end, number
    return found


class Report:
    """moves: {(topic, partition): details with the three lists}; jobs: {id: job}; queued: {(topic, partition): move}."""

    def __init__(self, address):
        body = struct.pack(">i", 30000) + varint(0) + varint(1) + varint(EXTENSIONS) + varint(1) + b"\1"
        answer = call(address, 46, 0, body, True)
        answer.take("i")
        self.code = answer.take("h")
        answer.compact_text()
        self.moves = {}
        for _ in range(answer.varint() - 1):
            topic = answer.compact_text()
            for _ in range(answer.varint() - 1):
                partition = answer.take("i")
                lists = fields(answer, replicas="l", adding_replicas="l", removing_replicas="l")
                self.moves[topic, partition] = {**tagged(answer, {EXTENSIONS: details})[EXTENSIONS], **lists}
            assert answer.tags() == []
        rest = tagged(answer, {
            EXTENSIONS: lambda a: [job(a) for _ in range(a.varint() - 1)],
            EXTENSIONS + 1: lambda a: [queued(a) for _ in range(a.varint() - 1)]})
        self.jobs = {j["id"]: j for j in rest.get(EXTENSIONS, [])}
        self.queued = {tp: move for topic in rest.get(EXTENSIONS + 1, []) for tp, move in topic.items()}
