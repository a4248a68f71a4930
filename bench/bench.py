"""./dev bench [NAME...] [--json] [--quick]: copy, copy_cold, produce, start, move_empty, throttle, moving,
plan, listing, slow_disk, failover.

Each benchmark runs several times beside a calibration of the machine in the same run. A figure is the median;
`spread` shows the smallest and the largest run. Ratios are formed run by run, then the median is taken.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import big_moves
import bulk
from devcluster import DevCluster
from failover import bench_failover
from slow_disk import bench_slow_disk

GB = 1000 * 1000 * 1000
IDLE_SECONDS = 3


class Report:
    """Collects runs by name and prints the lines."""

    def __init__(self, is_json):
        self.is_json = is_json
        self.rows = []

    def add(self, kind, name, values, unit=""):
        values = list(values)
        row = {"kind": kind, "name": name, "value": statistics.median(values), "unit": unit, "min": min(values),
               "max": max(values), "runs": len(values)}
        self.rows.append(row)
        if not self.is_json:
            print(("%s %s %.4g %s" % (kind, name, row["value"], unit)).rstrip())
            if len(values) > 1:
                print("spread %s %.4g %.4g of %d runs" % (name, row["min"], row["max"], len(values)), flush=True)

    def figure(self, name, values, unit):
        self.add("figure", name, values, unit)

    def ratio(self, name, values):
        self.add("ratio", name, values)

    def skip(self, name, reason):
        self.rows.append({"kind": "skipped", "name": name, "reason": reason})
        if not self.is_json:
            print("skipped %s: %s" % (name, reason))

    def finish(self):
        if self.is_json:
            print(json.dumps({"results": self.rows}, indent=1))


class Programs:
    def __init__(self, build, is_quick):
        self.build = build
        self.is_quick = is_quick  # smaller moves, fewer rates

    def path(self, *parts):
        return os.path.join(self.build, *parts)

    def json(self, *command):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError("%s ended with status %d:\n%s" % (" ".join(command), result.returncode, result.stderr))
        return self.parse(result.stdout)

    def parse(self, output):
        """Of the program's last line."""
        return json.loads(output.strip().splitlines()[-1])

    def kgen(self, bootstrap, topic, **options):
        words = [w for k, v in options.items() for w in ("--" + k.replace("_", "-"), str(v))]
        return self.json(self.path("kgen"), "-b", bootstrap, "-t", topic, *words, "--json")

    def calibrate(self, name, *options):
        """The figures that `calibrate NAME` prints, by name."""
        output = subprocess.run([self.path("bench", "calibrate"), *options, name], capture_output=True, text=True,
                                check=True).stdout
        return {line.split()[1]: float(line.split()[2]) for line in output.splitlines() if line.startswith("figure ")}


def warm_memory(size):
    """Memory that sat free is slow to touch again: have it handed back before the clock starts."""
    block = bytes(1 << 20)
    with tempfile.NamedTemporaryFile() as scratch:
        for _ in range(size >> 20):
            scratch.write(block)
        scratch.flush()


def cpu_seconds(pid):
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/schedstat" % (pid, thread), encoding="ascii") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            pass  # the thread ended meanwhile
    return total / 1e9


def resident_mb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024 / 1e6


def create(cluster, topic, partitions, replicas):
    rows = ",".join(":".join(map(str, replicas)) for _ in range(partitions))
    cluster.admin("topics", "create", topic, "--replica-assignment", rows)


# ---- copy ----

def bench_copy(programs, report, runs):
    """One partition of 1 GB from broker 1 to broker 2 against sendfile -> recv -> CRC32C -> pwrite."""
    rates, raws, ratios = [], [], []
    for _ in range(runs):
        with DevCluster(programs.build, 2) as cluster:
            create(cluster, "copy", 1, [1])
            programs.kgen(cluster.bootstrap, "copy", partitions=1, acks=1, record_size=1000, batch_bytes=65536, bytes=GB,
                          inflight=5)
            os.sync()
            warm_memory(GB)
            took = programs.json(programs.path("bench", "bench-moves"), cluster.bootstrap, "copy", "copy", "2")
        os.sync()
        warm_memory(GB)
        raw = programs.calibrate("copy")["raw_copy"]
        rates.append(GB / 1e6 / took["done_s"])
        raws.append(raw)
        ratios.append(rates[-1] / raw)
    report.figure("calibration_raw_copy", raws, "MB/s")
    report.figure("copy", rates, "MB/s")
    report.ratio("copy_vs_raw", ratios)


# ---- produce ----

def produce_once(programs, cluster, topic, partitions, acks, record_size, size):
    warm_memory(size)
    before = cpu_seconds(cluster.process.pid)
    result = programs.kgen(cluster.bootstrap, topic, partitions=partitions, acks=acks, record_size=record_size,
                           batch_bytes=16384, bytes=size, inflight=5)
    return result["mb_per_s"], (cpu_seconds(cluster.process.pid) - before) / (size / GB)


def produce_throughput(programs, report, runs):
    for replicas, acks in (([1], 1), ([1, 2, 3], -1)):
        for record_size in (1000, 100):
            for partitions in (1, 100):
                rates, costs, raws = [], [], []
                size = GB // 2 if len(replicas) == 1 else GB // 4
                for _ in range(runs):
                    raws.append(programs.calibrate("produce")["raw_produce"])
                    with DevCluster(programs.build, 3) as cluster:
                        create(cluster, "produce", partitions, replicas)
                        rate, cost = produce_once(programs, cluster, "produce", partitions, acks, record_size, size)
                    rates.append(rate)
                    costs.append(cost)
                name = "produce_%db_acks_%s_%dp" % (record_size, "all" if acks < 0 else acks, partitions)
                report.figure(name, rates, "MB/s")
                report.figure(name + "_cpu_per_gb", costs, "s")
                if record_size == 1000 and acks == 1 and partitions == 1:
                    report.figure("calibration_raw_produce", raws, "MB/s")
                    report.ratio("produce_vs_raw", [a / b for a, b in zip(rates, raws)])


def produce_librdkafka(programs, report, runs):
    for replicas, acks in (([1], "1"), ([1, 2, 3], "all")):
        rates = []
        for _ in range(runs):
            with DevCluster(programs.build, 3) as cluster:
                create(cluster, "rdkafka", 1, replicas)
                result = programs.json(programs.path("bench", "bench-rdkafka"), cluster.bootstrap, "rdkafka", acks, "1000",
                                       "200000")
            rates.append(200 / result["seconds"])
        report.figure("produce_librdkafka_1000b_acks_%s" % acks, rates, "MB/s")


def latency_figures(report, name, runs):
    for quantile in ("p50", "p99", "p999"):
        report.figure("produce_%s_%s" % (name, quantile), [r[quantile + "_us"] / 1e6 for r in runs], "s")


def produce_latency(programs, report, runs):
    """Open loop, 200 batches of 16 KB a second, replicated three times, acks=all; then while 1 GB moves."""
    idle, moving = [], []
    options = {"partitions": 1, "acks": -1, "record_size": 1000, "batch_bytes": 16384, "rate": 200}
    for _ in range(runs):
        with DevCluster(programs.build, 6) as cluster:
            create(cluster, "steady", 1, [1, 2, 3])
            create(cluster, "bulk", 1, [4])
            programs.kgen(cluster.bootstrap, "bulk", partitions=1, acks=1, record_size=1000, batch_bytes=65536, bytes=GB,
                          inflight=5)
            idle.append(programs.kgen(cluster.bootstrap, "steady", bytes=200 * 16384 * 5, **options))
            move = subprocess.Popen([programs.path("bench", "bench-moves"), cluster.bootstrap, "copy", "bulk", "5"],
                                    stdout=subprocess.DEVNULL)
            moving.append(programs.kgen(cluster.bootstrap, "steady", bytes=200 * 16384 * 5, **options))
            move.wait()
    latency_figures(report, "idle", idle)
    latency_figures(report, "moving", moving)
    report.ratio("produce_p99_moving_vs_idle", [m["p99_us"] / i["p99_us"] for m, i in zip(moving, idle)])


def bench_produce(programs, report, runs):
    produce_throughput(programs, report, runs)
    produce_librdkafka(programs, report, runs)
    produce_latency(programs, report, runs)


# ---- start ----

def stripped_mb(programs):
    with tempfile.TemporaryDirectory() as directory:
        copy = shutil.copy(programs.path("klamm"), directory)
        subprocess.run(["strip", copy], check=True)
        return os.path.getsize(copy) / 1e6


def bench_start(programs, report, runs):
    """Six brokers on an empty directory until all answer and a controller is elected; then their memory, idle."""
    seconds, memory = [], []
    for _ in range(runs):
        started = time.monotonic()
        with DevCluster(programs.build, 6) as cluster:
            seconds.append(time.monotonic() - started)
            time.sleep(IDLE_SECONDS)
            memory.append(resident_mb(cluster.process.pid))
    report.figure("start_6_brokers", seconds, "s")
    report.figure("rss_6_brokers_idle", memory, "MB")
    report.figure("binary_size", [stripped_mb(programs)], "MB")


# ---- move_empty ----

def bench_move_empty(programs, report, runs):
    """Empty partitions, replicas 1,2,3 -> 1,2,4, in one request."""
    times = {}
    for _ in range(runs):
        for name, topics, partitions in (("1k", 1, 1000), ("10k", 10, 1000), ("10k_one_topic", 1, 10000)):
            with DevCluster(programs.build, 4) as cluster:
                took = programs.json(programs.path("bench", "bench-moves"), cluster.bootstrap, "empty", str(topics),
                                     str(partitions))
            times.setdefault(name, []).append(took)
    for name, taken in times.items():
        report.figure("move_empty_%s_accept" % name, [t["accept_s"] for t in taken], "s")
        report.figure("move_empty_%s_done" % name, [t["done_s"] for t in taken], "s")
    report.ratio("move_empty_10x", [b["done_s"] / a["done_s"] for a, b in zip(times["1k"], times["10k"])])


BENCHMARKS = {"copy": (bench_copy, 11), "copy_cold": (big_moves.bench_copy_cold, 5), "produce": (bench_produce, 3),
              "start": (bench_start, 5), "move_empty": (bench_move_empty, 3), "throttle": (big_moves.bench_throttle, 1),
              "moving": (big_moves.bench_moving, 10), "plan": (bulk.bench_plan, 1), "listing": (bulk.bench_listing, 3),
              "slow_disk": (bench_slow_disk, 1), "failover": (bench_failover, 3)}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n\n")[1])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--runs", type=int, help="how often each is run (default 1 to 10)")
    parser.add_argument("--quick", action="store_true", help="copy_cold, throttle, moving, plan, listing, slow_disk: smaller, for a first look")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which: %s (default all)" % ", ".join(BENCHMARKS))
    arguments = parser.parse_args()
    unknown = [n for n in arguments.names if n not in BENCHMARKS]
    if unknown:
        parser.error("unknown benchmark '%s': %s" % (unknown[0], ", ".join(BENCHMARKS)))
    report = Report(arguments.json)
    for name in arguments.names or BENCHMARKS:
        run, runs = BENCHMARKS[name]
        run(Programs(arguments.build, arguments.quick), report, arguments.runs or runs)
    report.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
