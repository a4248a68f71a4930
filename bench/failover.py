"""./dev bench failover: kill -9 of the active controller until the next one accepts an Alter and has told every broker.

Four brokers as processes of their own on a real ZooKeeper; partitions of factor 2 spread over them, so that the dead
one leads a quarter of them and is in half of the in-sync sets. The clock of a figure starts when ZooKeeper ends the
session of the dead controller (its /controller vanishes): what lies before is the session time-out. The first death of
each cluster is not counted.
"""

import os
import shutil
import subprocess
import sys
import time

BROKERS = 4
FACTOR = 2
PARTITIONS_PER_TOPIC = 1000
SIZES = (("1k", 1), ("10k", 10), ("100k", 100))  # topics
SESSION_MS = 6000
WARM_UPS = 1  # not counted: the Java machines compile what they do for the first time
SETTINGS = {"zookeeper.session.timeout.ms": SESSION_MS, "replica.fetch.backoff.ms": 1000,
            "controller.socket.timeout.ms": 30000}
JAVA = ("-Xms1g", "-Xmx1g", "-XX:+UseSerialGC")  # of ZooKeeper: no threads of its own for garbage


def resident_mb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024 / 1e6


class Cluster:
    """The brokers, from the system tests, and what happens to them."""

    def __init__(self, programs, topics, make):
        self.programs = programs
        self.topics = topics
        self.cluster = make(BROKERS, java=JAVA, **SETTINGS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.stop()

    def run(self, what, *words):
        subprocess.run([self.programs.path("bench", "bench-failover"), self.cluster.bootstrap, what, str(self.topics),
                        *map(str, words)], check=True)

    def create(self):
        self.run("create", PARTITIONS_PER_TOPIC, BROKERS, FACTOR)
        self.settle()

    def settle(self):
        self.cluster.wait_all_ready()
        self.run("settle", PARTITIONS_PER_TOPIC, BROKERS, FACTOR)

    def kill_controller(self):
        """(seconds until the session's end, until an Alter is accepted, until everybody is told, MB)."""
        old = self.cluster.controller()
        sessions = self.cluster.sessions
        sessions.ask("get", "reader", "watch%s" % time.monotonic_ns(), "/controller", "watch")
        killer = subprocess.Popen([self.programs.path("bench", "bench-failover"), self.cluster.bootstrap, "kill",
                                   str(self.topics), str(BROKERS), str(old), str(self.cluster.servers[old].process.pid)],
                                  stdout=subprocess.PIPE, text=True)
        sessions.wait("reader event deleted /controller")
        ended = time.monotonic()
        output = killer.communicate()[0]
        if killer.returncode != 0:
            raise RuntimeError("bench-failover ended with status %d" % killer.returncode)
        self.cluster.servers[old].wait_end()
        moments = self.programs.parse(output)
        memory = resident_mb(self.cluster.servers[self.cluster.controller()].process.pid)
        return ended - moments["killed"], moments["accepted"] - ended, moments["told"] - ended, memory


def kill_again_and_again(programs, make, topics, runs):
    taken = []
    with Cluster(programs, topics, make) as cluster:
        cluster.create()
        for _ in range(WARM_UPS + runs):
            taken.append(cluster.kill_controller())
            cluster.settle()
    return taken[WARM_UPS:]


def figures(report, name, taken):
    """Returns the times beyond the session's end."""
    times = [max(accepted, told) for _, accepted, told, _ in taken]
    report.figure("failover_%s" % name, times, "s")
    report.figure("failover_session_%s" % name, [ended for ended, _, _, _ in taken], "s")
    report.figure("failover_accept_%s" % name, [accepted for _, accepted, _, _ in taken], "s")
    report.figure("failover_rss_%s" % name, [memory for _, _, _, memory in taken], "MB")
    return times


def beside_kafka(programs, report, ours, runs):
    import kafka
    kafka.Broker.jars, reason = kafka.fetch()
    if reason is not None:
        print("SKIPPED: Apache Kafka beside it: %s" % reason, file=sys.stderr)
        return
    try:
        for name, topics in SIZES[:2]:
            taken = kill_again_and_again(programs, kafka.Cluster, topics, runs)
            theirs = figures(report, "kafka_%s" % name, taken)
            report.ratio("failover_vs_kafka_%s" % name, [a / b for a, b in zip(ours[name], theirs)])
    finally:
        shutil.rmtree(os.path.dirname(kafka.Broker.jars), ignore_errors=True)


def bench_failover(programs, report, runs):
    os.environ["KLAMM_BUILD"] = os.path.abspath(programs.build)
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "system"))
    import servers  # it wants to know the build
    times = {}
    for name, topics in SIZES:
        times[name] = figures(report, name, kill_again_and_again(programs, servers.ServerCluster, topics, runs))
    report.ratio("failover_10x", [b / a for a, b in zip(times["10k"], times["100k"])])
    beside_kafka(programs, report, times, runs)
