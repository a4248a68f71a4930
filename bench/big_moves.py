"""Benchmarks of large moves: copy_cold, throttle, moving. bench.py runs them."""

import os
import struct
import subprocess
import sys
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests", "system")]
import limits
import protocol
from devcluster import DevCluster

GB = 1000 * 1000 * 1000
MB = 1000 * 1000
ALTER = 45
NOT_CONTROLLER = 41
NOT_MOVING = 85
ACTION_SUBMIT = 1
ACTION_CANCEL = 4
POLL_SECONDS = 0.1
WINDOW_SECONDS = 10


# ---- moving ----

def tag(number, data):
    return protocol.varint(number) + protocol.varint(len(data)) + data


def alter_body(topic, targets, tags):
    """targets: {partition: brokers, or None to cancel}."""
    parts = [struct.pack(">i", p) + protocol.compact_array(None if b is None else [struct.pack(">i", i) for i in b]) + b"\0"
             for p, b in sorted(targets.items())]
    topics = [protocol.compact_text(topic) + protocol.compact_array(parts) + b"\0"]
    return struct.pack(">i", 60000) + protocol.compact_array(topics) + protocol.varint(len(tags)) + b"".join(tags)


def alter_errors(reader):
    reader.take("i")
    top = reader.take("h")
    reader.compact_text()
    errors = [top] if top else []

    def partition():
        reader.take("i")
        errors.append(reader.take("h"))
        reader.compact_text()
        reader.tags()

    def topic():
        reader.compact_text()
        reader.compact_array(partition)
        reader.tags()

    reader.compact_array(topic)
    return errors


def await_limit(cluster, broker, topic, rate):
    """Until the broker says that this rate holds for its copy: else nothing would be measured."""
    port = cluster.bootstrap.split(",")[broker - 1]
    deadline = time.monotonic() + 10
    while True:
        found = limits.details(port, topic, 0)
        if found is not None and found["throttle_rate"] == rate:
            return
        if time.monotonic() > deadline:
            raise RuntimeError("the rate of the job does not hold: %s" % found)
        time.sleep(0.02)


def alter(cluster, topic, targets, tags=(), passed_over=0):
    """Sends it to whoever is controller; one error code may be passed over."""
    errors = [NOT_CONTROLLER]
    for address in cluster.bootstrap.split(","):
        reader = protocol.call(address, ALTER, 0, alter_body(topic, targets, list(tags)), is_flexible=True)
        errors = alter_errors(reader)
        if NOT_CONTROLLER not in errors:
            break
    if any(code not in (0, passed_over) for code in errors):
        raise RuntimeError("the move of %s was refused: %s" % (topic, errors))


def submit(cluster, topic, targets, rate):
    """A job of the queue with a rate of its own; None = no rate."""
    tags = [tag(10000, b"\1"), tag(10002, bytes([ACTION_SUBMIT]))]
    if rate is not None:
        tags.append(tag(10004, struct.pack(">q", rate)))
    alter(cluster, topic, targets, tags)


def cancel(cluster, topic, partitions):
    """What still moves of them."""
    tags = [tag(10000, b"\1"), tag(10002, bytes([ACTION_CANCEL]))]
    alter(cluster, topic, {p: None for p in partitions}, tags, NOT_MOVING)


def is_moving(cluster):
    reader = None
    for address in cluster.bootstrap.split(","):
        body = struct.pack(">i", 60000) + protocol.compact_array(None) + b"\0"
        reader = protocol.call(address, 46, 0, body, is_flexible=True)
        reader.take("i")
        error = reader.take("h")
        reader.compact_text()
        if error != NOT_CONTROLLER:
            break
    return reader.varint() > 1


def await_idle(cluster, seconds=600):
    deadline = time.monotonic() + seconds
    while is_moving(cluster):
        if time.monotonic() > deadline:
            raise RuntimeError("the move does not end")
        time.sleep(0.02)


# ---- files ----

BUFFERED = ("--set", "klamm.copy.cached.bytes.max=%d" % (1 << 60))


def log_files(cluster, broker, topic):
    """The segments of the topic's replicas on one broker of the dev cluster."""
    found = []
    for folder, _, names in os.walk(os.path.join(cluster.directory, "broker-%d" % broker)):
        name = os.path.basename(folder)
        if name.rpartition("-")[0] == topic:
            found += [os.path.join(folder, n) for n in names if n.endswith(".log")]
    return found


def log_bytes(cluster, broker, topic):
    total = 0
    for path in log_files(cluster, broker, topic):
        try:
            total += os.path.getsize(path)
        except FileNotFoundError:
            pass  # deleted meanwhile
    return total


def uncache(paths):
    """Out of the page cache; written first."""
    os.sync()
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached_bytes(paths):
    """How much of the files is in the page cache (fincore of util-linux)."""
    if not paths:
        return 0
    out = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "RES", *paths], capture_output=True, text=True,
                         check=True).stdout
    return sum(int(line) for line in out.split())


def page_cache_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        fields = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
    return fields["Cached"]


class Sampler:
    """Calls read() each POLL_SECONDS in a thread of its own while it is entered: [(seconds, value)]."""

    def __init__(self, read):
        self.read = read
        self.rows = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.is_over.wait(POLL_SECONDS):
            self.rows.append((time.monotonic(), self.read()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


# ---- common ----

def create(cluster, topic, partitions, replicas):
    rows = ",".join(":".join(map(str, replicas)) for _ in range(partitions))
    cluster.admin("topics", "create", topic, "--replica-assignment", rows)


def fill(programs, cluster, topic, partitions, size):
    programs.kgen(cluster.bootstrap, topic, partitions=partitions, acks=1, record_size=1000, batch_bytes=65536, bytes=size,
                  inflight=5)


# ---- copy_cold ----

PARTITIONS = 8
HOT_BYTES = 200 * MB


def copy_cold_once(programs, size, options=()):
    """MB/s of a cold move, how much of another topic stayed in memory, and by how much the page cache grew."""
    with DevCluster(programs.build, 2, options=options) as cluster:
        create(cluster, "cold", PARTITIONS, [1])
        create(cluster, "hot", 1, [1])
        fill(programs, cluster, "cold", PARTITIONS, size)
        uncache(log_files(cluster, 1, "cold"))
        fill(programs, cluster, "hot", 1, HOT_BYTES)
        os.sync()
        hot = log_files(cluster, 1, "hot")
        before, cache = cached_bytes(hot), page_cache_bytes()
        with Sampler(page_cache_bytes) as sampler:
            started = time.monotonic()
            alter(cluster, "cold", {p: [2] for p in range(PARTITIONS)})
            await_idle(cluster)
            seconds = time.monotonic() - started
        grown = max([value for _, value in sampler.rows], default=cache) - cache
        return size / MB / seconds, cached_bytes(hot) / max(before, 1), grown / MB


def bench_copy_cold(programs, report, runs):
    """8 GB in 8 partitions that are not in memory, against a plain program that copies past the page cache, and against
    our own copy through it."""
    size = GB if programs.is_quick else 8 * GB
    rates, raws, ratios, kept, grown, gains = [], [], [], [], [], []
    for _ in range(runs):
        rate, hot, cache = copy_cold_once(programs, size)
        os.sync()
        gains.append(rate / copy_cold_once(programs, size, BUFFERED)[0])
        os.sync()
        raw = programs.calibrate("copy_cold", "--bytes", str(size))["raw_copy_cold"]
        rates.append(rate)
        raws.append(raw)
        ratios.append(rate / raw)
        kept.append(hot)
        grown.append(cache)
    report.figure("calibration_raw_copy_cold", raws, "MB/s")
    report.figure("copy_cold", rates, "MB/s")
    report.ratio("copy_cold_vs_raw", ratios)
    report.ratio("copy_cold_vs_buffered", gains)
    report.ratio("copy_cold_hot_bytes_kept", kept)
    report.figure("copy_cold_page_cache_growth", grown, "MB")


# ---- throttle ----

def throttle_once(programs, rate):
    """The largest relative error of any window of ten seconds, from the size of the target's log."""
    seconds = 1.5 * WINDOW_SECONDS if programs.is_quick else 2.5 * WINDOW_SECONDS
    with DevCluster(programs.build, 2) as cluster:
        create(cluster, "bulk", 1, [1])
        fill(programs, cluster, "bulk", 1, int(rate * seconds * 1.2))
        with Sampler(lambda: log_bytes(cluster, 2, "bulk")) as sampler:
            submit(cluster, "bulk", {0: [2]}, rate)
            await_limit(cluster, 2, "bulk", rate)
            time.sleep(seconds)
        cancel(cluster, "bulk", [0])
    rows = [(t, value) for t, value in sampler.rows if value > 0]
    errors, at = [], 0
    for t, value in rows:
        while rows[at][0] < t - WINDOW_SECONDS:
            at += 1
        took = t - rows[at][0]
        if took >= WINDOW_SECONDS - 2 * POLL_SECONDS:
            errors.append(abs((value - rows[at][1]) / took / rate - 1))
    if not errors:
        raise RuntimeError("the move at %d B/s did not last for a window" % rate)
    return max(errors)


def bench_throttle(programs, report, runs):
    """The rate of a job: relative error of the worst window of ten seconds."""
    for rate in (1 * MB, 10 * MB, 50 * MB) if programs.is_quick else (1 * MB, 10 * MB, 50 * MB, 200 * MB):
        errors = [throttle_once(programs, rate) for _ in range(runs)]
        report.ratio("throttle_error_%dmb" % (rate // MB), errors)


# ---- moving ----

RATE = 200  # batches of 16 KB a second
THROTTLE = 50 * MB


def produce_p99(programs, cluster, seconds):
    result = programs.kgen(cluster.bootstrap, "steady", partitions=1, acks=-1, record_size=1000, batch_bytes=16384, rate=RATE,
                           bytes=int(RATE * 16384 * seconds))
    return result["p99_us"] / 1e6


def moving_pair(programs, cluster, seconds):
    """p99 idle, while the bulk moves as fast as it can, and while it moves at THROTTLE."""
    idle = produce_p99(programs, cluster, seconds)
    targets = {p: [5] for p in range(PARTITIONS)}
    submit(cluster, "bulk", targets, None)
    free = produce_p99(programs, cluster, seconds)
    cancel(cluster, "bulk", range(PARTITIONS))
    await_idle(cluster)
    home = {p: [4] for p in range(PARTITIONS)}
    alter(cluster, "bulk", home)
    await_idle(cluster)
    submit(cluster, "bulk", targets, THROTTLE)
    await_limit(cluster, 5, "bulk", THROTTLE)
    throttled = produce_p99(programs, cluster, seconds)
    cancel(cluster, "bulk", range(PARTITIONS))
    await_idle(cluster)
    return idle, free, throttled


def bench_moving(programs, report, runs):
    """Produce at a fixed rate, replicated three times, while 8 GB of another topic move between other brokers."""
    size, seconds = (GB, 4) if programs.is_quick else (8 * GB, 8)
    with DevCluster(programs.build, 5) as cluster:
        create(cluster, "steady", 1, [1, 2, 3])
        create(cluster, "bulk", PARTITIONS, [4])
        fill(programs, cluster, "bulk", PARTITIONS, size)
        os.sync()
        rows = [moving_pair(programs, cluster, seconds) for _ in range(runs)]
    for at, name in enumerate(("idle", "unthrottled", "throttled")):
        report.figure("moving_produce_p99_%s" % name, [row[at] for row in rows], "s")
    report.ratio("moving_p99_unthrottled_vs_idle", [row[1] / row[0] for row in rows])
    report.ratio("moving_p99_throttled_vs_idle", [row[2] / row[0] for row in rows])
