"""Benchmarks of very many moves: listing and plan. bench.py runs them.

While they run, bench-probe asks a broker for small things every few milliseconds and says how long each answer took:
nothing that is done for many moves may keep others waiting for more than LIMIT_SECONDS.
"""

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests", "system")]
import big_moves
import protocol
from devcluster import DevCluster

LIMIT_SECONDS = 0.1  # what any other request may wait for its answer
KINDS = ("metadata", "list", "produce")
INTERVAL_MS = 3  # between an answer and the next question
PROBED = "probed"
PARTITIONS_PER_TOPIC = 1000
CONCURRENCY = 500
LIST = 46
LOOK_SECONDS = 1  # the controller looks at running moves this often
SESSION_MS = 6000


# ---- the probe ----

class Probe:
    """Asks one broker until it leaves; then `found` is what bench-probe printed."""

    def __init__(self, programs, address):
        self.command = [programs.path("bench", "bench-probe"), *address.split(":"), PROBED, str(INTERVAL_MS)]
        self.programs = programs
        self.process = None
        self.found = None

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.found = self.programs.parse(self.process.communicate()[0])


def probe_figures(report, name, probes):
    """probes: what was found, one list a run. The ratio is that of the longest wait of all to what is allowed."""
    for kind in KINDS:
        for key, label in (("p99_us", "p99"), ("max_us", "longest")):
            report.figure("%s_%s_%s" % (name, kind, label), [max(p[kind][key] for p in run) / 1e6 for run in probes], "s")
    report.ratio("%s_longest_vs_%.0f_ms" % (name, LIMIT_SECONDS * 1000),
                 [max(p[kind]["max_us"] for p in run for kind in KINDS) / 1e6 / LIMIT_SECONDS for run in probes])


# ---- clusters ----

def memory_mb(pid, field):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024 / 1e6


class Dev:
    """`klamm dev`: all brokers, one store and one controller's thread in one process."""

    name = "dev"

    def __init__(self, programs, brokers):
        self.cluster = DevCluster(programs.build, brokers, options=("--port", "0", "--session-timeout-ms", str(SESSION_MS)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.stop()

    def rows(self):
        return {b["id"]: b for b in json.loads(self.cluster.dev("status", "--json").stdout)["brokers"]}

    def controller(self):
        """Waited for."""
        while True:
            found = [b for b, row in self.rows().items() if row["is_controller"]]
            if found:
                return found[0]

    def address(self, broker):
        return "127.0.0.1:%d" % self.rows()[broker]["port"]

    def kill(self, broker):
        self.cluster.dev("kill", str(broker))

    def memory(self, field):
        return memory_mb(self.cluster.process.pid, field)


class Servers:
    """`klamm server` processes on a real ZooKeeper."""

    name = "zookeeper"
    settings = {"zookeeper.session.timeout.ms": SESSION_MS, "controller.socket.timeout.ms": 30000}

    def __init__(self, programs, brokers):
        os.environ["KLAMM_BUILD"] = os.path.abspath(programs.build)
        import failover
        import servers  # it wants to know the build
        self.cluster = servers.ServerCluster(brokers, java=failover.JAVA, **self.settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.stop()

    def controller(self):
        while True:
            found = self.cluster.controller()
            if found is not None:
                return found

    def address(self, broker):
        return self.cluster.servers[broker].address

    def kill(self, broker):
        self.cluster.servers[broker].kill()

    def memory(self, field):
        """Of the process that needs most."""
        return max(memory_mb(s.process.pid, field) for s in self.cluster.servers.values() if s.process is not None)


def topics_create(cluster, name, count, broker):
    for topic in range(count):
        big_moves.create(cluster, "%s-%d" % (name, topic), PARTITIONS_PER_TOPIC, [broker])


def limits_set(cluster):
    """CONCURRENCY moves at a time. A change reaches the controller a little later."""
    names = ("--in-per-broker", "--out-per-broker", "--per-cluster")
    cluster.admin("moves", "limits", *[word for n in names for word in (n, str(CONCURRENCY))])
    while json.loads(cluster.admin("moves", "limits", "--json").stdout)["per_cluster"] != CONCURRENCY:
        time.sleep(0.05)


# ---- plan ----

PLAN_BROKERS = 4


class Submission:
    """`klamm moves submit PLAN --watch`: when it was accepted, when it was over, and the memory that it took."""

    def __init__(self, cluster, klamm, path):
        self.started = time.monotonic()
        self.accepted = self.over = self.memory = None
        self.lines = []
        self.process = subprocess.Popen([klamm, "moves", "submit", path, "--yes", "--watch", "--interval", "500",
                                         "--bootstrap-server", cluster.bootstrap], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)

    def wait(self, until):
        """Reads lines until one has the text, or to the end."""
        for line in self.process.stdout:
            self.lines.append(line)
            if "moves accepted" in line:
                self.accepted = time.monotonic() - self.started
            if until is not None and until in line:
                return

    def finish(self):
        self.wait(None)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.process.stdout.close()
        self.over = time.monotonic() - self.started
        self.memory = usage.ru_maxrss * 1024 / 1e6
        if self.process.returncode != 0:
            raise RuntimeError("the plan ended with status %d:\n%s" % (self.process.returncode, "".join(self.lines[-20:])))


def plan_write(path, topics, brokers):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "partitions": [
            {"topic": "plan-%d" % t, "partition": p, "replicas": [brokers[p % len(brokers)]]}
            for t in range(topics) for p in range(PARTITIONS_PER_TOPIC)]}, file)


def plan_once(programs, make, topics, kills):
    """A plan of topics * 1000 empty partitions to the end; with kills the controller dies when it is accepted."""
    with make(programs, PLAN_BROKERS) as bench:
        cluster = bench.cluster
        controller = bench.controller()
        others = [b for b in range(1, PLAN_BROKERS + 1) if b != controller]
        topics_create(cluster, "plan", topics, others[0])
        big_moves.create(cluster, PROBED, 1, [others[1] if kills else controller])
        limits_set(cluster)
        path = os.path.join(cluster.root, "plan.json")
        plan_write(path, topics, others[1:])
        before = bench.memory("VmRSS")
        probes = [Probe(programs, bench.address(b)) for b in (others if kills else [controller])]
        with contextlib.ExitStack() as stack:
            for probe in probes:
                stack.enter_context(probe)
            submission = Submission(cluster, programs.path("klamm"), path)
            if kills:
                submission.wait("moves accepted")
                bench.kill(controller)
            submission.finish()
        return {"accepted": submission.accepted, "over": submission.over, "client": submission.memory, "before": before,
                "peak": bench.memory("VmHWM"), "probes": [p.found for p in probes]}


def plan_figures(report, name, runs):
    report.figure(name + "_accepted", [r["accepted"] for r in runs], "s")
    report.figure(name + "_done", [r["over"] for r in runs], "s")
    report.figure(name + "_client_memory", [r["client"] for r in runs], "MB")
    report.figure(name + "_memory_before", [r["before"] for r in runs], "MB")
    report.figure(name + "_memory_peak", [r["peak"] for r in runs], "MB")
    probe_figures(report, name, [r["probes"] for r in runs])


def zookeeper_is_there():
    import zookeeper
    reason = zookeeper.missing()
    if reason is not None:
        print("SKIPPED: with ZooKeeper: %s" % reason, file=sys.stderr)
    return reason is None


def bench_plan(programs, report, runs):
    """A plan of 50,000 empty partitions, 500 at a time; then once more with the controller's death in between."""
    topics = 5 if programs.is_quick else 50
    makes = [Dev] + ([Servers] if zookeeper_is_there() else [])
    for make in makes:
        for kills in (False, True):
            name = "plan_%s%s" % (make.name, "_failover" if kills else "")
            plan_figures(report, name, [plan_once(programs, make, topics, kills) for _ in range(runs)])


# ---- listing ----

LISTING_BROKERS = 4
SUBMIT_TAGS = (big_moves.tag(10000, b"\1"), big_moves.tag(10002, bytes([big_moves.ACTION_SUBMIT])))


def list_once(address, is_extended):
    """Seconds until the last byte of the answer that lists everything, and its MB."""
    tags = [big_moves.tag(10000, b"\1")] if is_extended else []
    body = struct.pack(">i", 60000) + protocol.compact_array(None) + protocol.varint(len(tags)) + b"".join(tags)
    with protocol.Connection(address) as connection:
        started = time.monotonic()
        connection.send(LIST, 0, body, is_flexible=True)
        size = left = struct.unpack(">i", connection.socket.recv(4, socket.MSG_WAITALL))[0]
        while left > 0:
            got = len(connection.socket.recv(min(left, 1 << 20)))
            if got == 0:
                raise RuntimeError("the connection ended within the list")
            left -= got
        return time.monotonic() - started, size / 1e6


def list_by_command(bench, klamm):
    """`klamm moves status --json`: how many run, how many wait, seconds, MB."""
    started = time.monotonic()
    process = subprocess.Popen([klamm, "moves", "status", "--json", "--bootstrap-server", bench.cluster.bootstrap],
                               stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    seconds = time.monotonic() - started
    states = [row["state"] for row in json.loads(output)["moves"]]
    return states.count("queued"), len(states), seconds, usage.ru_maxrss * 1024 / 1e6


def leaders_await(cluster, topic):
    """Until the topic's partitions have no leader any more."""
    while True:
        found = json.loads(cluster.admin("topics", "describe", topic, "--json").stdout)["topics"][0]["partitions"]
        if all(p["leader"] < 0 for p in found):
            return
        time.sleep(0.2)


def alter(address, topic, target, tags=()):
    body = big_moves.alter_body(topic, {p: [target] for p in range(PARTITIONS_PER_TOPIC)}, list(tags))
    errors = big_moves.alter_errors(protocol.call(address, big_moves.ALTER, 0, body, is_flexible=True))
    if any(errors):
        raise RuntimeError("the moves of %s were refused: %s" % (topic, errors))


def listing_once(programs, topics):
    """Half of the partitions move and wait for their leader, which is dead; half wait in the queue, because those leave
    no slot of the target."""
    with Dev(programs, LISTING_BROKERS) as bench:
        controller = bench.controller()
        dead, target, _ = [b for b in range(1, LISTING_BROKERS + 1) if b != controller]
        address = bench.address(controller)
        topics_create(bench.cluster, "listed", topics, dead)
        big_moves.create(bench.cluster, PROBED, 1, [controller])
        bench.kill(dead)
        for topic in range(topics):
            leaders_await(bench.cluster, "listed-%d" % topic)
        for topic in range(topics):
            tags = () if topic < topics // 2 else SUBMIT_TAGS
            alter(address, "listed-%d" % topic, target, tags)
        before = bench.memory("VmRSS")
        with Probe(programs, address) as probe:
            stock = list_once(address, False)
            extended = list_once(address, True)
            shown = list_by_command(bench, programs.path("klamm"))
            time.sleep(3 * LOOK_SECONDS)
        expected = topics * PARTITIONS_PER_TOPIC
        if shown[:2] != (expected // 2, expected):
            raise RuntimeError("of %d moves %d are queued; there should be %d" % (shown[1], shown[0], expected))
        return {"stock": stock, "extended": extended, "command": shown[2], "client": shown[3], "before": before,
                "peak": bench.memory("VmHWM"), "probes": [probe.found]}


def bench_listing(programs, report, runs):
    """100,000 moves, half of them queued: all listed with and without the request tag, and by `klamm moves status`."""
    taken = [listing_once(programs, 10 if programs.is_quick else 100) for _ in range(runs)]
    for name in ("stock", "extended"):
        report.figure("listing_" + name, [r[name][0] for r in taken], "s")
        report.figure("listing_%s_size" % name, [r[name][1] for r in taken], "MB")
    report.figure("listing_command", [r["command"] for r in taken], "s")
    report.figure("listing_client_memory", [r["client"] for r in taken], "MB")
    report.figure("listing_memory_before", [r["before"] for r in taken], "MB")
    report.figure("listing_memory_peak", [r["peak"] for r in taken], "MB")
    probe_figures(report, "listing", [r["probes"] for r in taken])
