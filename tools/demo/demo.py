"""The main job, end to end: six brokers, real text through librdkafka, and a topic that moves.

Act one moves every partition from brokers 1,2,3 to 4,5,6 while a producer (acks=all) and a consumer run.
Act two starts a move back, overrides it on the way, kills and restarts a broker, and cancels: the assignment
must be the one from before the act. The last line is `demo: N records, 0 lost, 0 duplicated`; the exit status
is 0 only if that is so and the assignments are as they should be.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from devcluster import DevCluster

TOPIC = "demo"
PARTITIONS = 6
RECORDS_PER_SECOND = 60000
FILL_SECONDS = 15
DEADLINE_SECONDS = 60
DEFAULT_TEXT = ["/usr/share/common-licenses/*", "/var/lib/dpkg/status", "/usr/share/perl5/**/*.pod",
                "/usr/share/doc/*/copyright"]


def say(text):
    print(text, flush=True)


def assignment(cluster):
    described = json.loads(cluster.admin("topics", "describe", TOPIC, "--json").stdout)
    return {p["partition"]: p["replicas"] for t in described["topics"] for p in t["partitions"]}


def is_moving(cluster):
    return "No partition reassignments" not in cluster.admin("reassign", "--list").stdout


class Load:
    """The demo-load program: told its phases, asked for its verdict at the end. What its client library says of
    brokers that are down goes to a file."""

    def __init__(self, program, bootstrap, files, log_path):
        with open(log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [program, bootstrap, TOPIC, str(PARTITIONS), str(RECORDS_PER_SECOND), *files],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def phase(self, name):
        self.process.stdin.write("phase %s\n" % name)
        self.process.stdin.flush()

    def finish(self):
        self.process.stdin.write("stop\n")
        self.process.stdin.flush()
        output, _ = self.process.communicate(timeout=3 * DEADLINE_SECONDS)
        if self.process.returncode != 0:
            sys.exit("demo: the load ended with status %d" % self.process.returncode)
        return json.loads(output)


def plan(path, replicas_of):
    partitions = [{"topic": TOPIC, "partition": p, "replicas": replicas_of(p)} for p in range(PARTITIONS)]
    with open(path, "w") as file:
        json.dump({"version": 1, "partitions": partitions}, file)
    return path


def rotated(brokers, by):
    by %= len(brokers)
    return brokers[by:] + brokers[:by]


def wait_until(what, condition):
    end = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > end:
            sys.exit("demo: waited %d s for %s" % (DEADLINE_SECONDS, what))
        time.sleep(0.2)


def execute(cluster, path, *options):
    """Runs `klamm reassign --execute` with its live progress on our terminal."""
    status = subprocess.run([cluster.klamm, "reassign", "--bootstrap-server", cluster.bootstrap, "--execute",
                             "--reassignment-json-file", path, *options]).returncode
    if status != 0:
        sys.exit("demo: klamm reassign --execute ended with status %d" % status)


def act_one(cluster, load, directory):
    say("\n== Act one: every partition from brokers 1,2,3 to 4,5,6, with writers and readers at work")
    path = plan(os.path.join(directory, "to-456.json"), lambda p: rotated([4, 5, 6], p))
    load.phase("moving")
    started = time.monotonic()
    execute(cluster, path, "--watch")
    seconds = time.monotonic() - started
    load.phase("after")
    wait_until("the move to end", lambda: not is_moving(cluster))
    return seconds


def controller(cluster):
    """The id of the active controller, once there is one."""
    found = []

    def look():
        status = json.loads(cluster.dev("status", "--json").stdout)
        found[:] = [b["id"] for b in status["brokers"] if b.get("is_controller")]
        return found
    wait_until("a controller", look)
    return found[0]


def act_two(cluster, load, directory):
    """A target whose death is not noticed yet is accepted, and keeps its move open: time enough to change one's
    mind. The controller is spared: without one the request would wait until the death is noticed."""
    say("\n== Act two: start a move, override it, kill and restart brokers, cancel everything")
    before = assignment(cluster)
    load.phase("second act")
    spared = controller(cluster)
    first, second = [b for b in (3, 2, 1) if b != spared][:2]
    for broker in (first, second):
        cluster.dev("kill", str(broker))
        target = [4, broker, 5]
        say("broker %d killed; moving to %s all the same" % (broker, target))
        path = plan(os.path.join(directory, "to-%d.json" % broker), lambda p, t=target: t)
        cluster.admin("reassign", "--execute", "--additional", "--reassignment-json-file", path)
    cluster.dev("start", str(first))
    say("broker %d started again; what runs now:" % first)
    sys.stdout.write(cluster.admin("reassign", "--list").stdout)
    sys.stdout.write(cluster.admin("reassign", "--cancel", "--reassignment-json-file", path).stdout)
    cluster.dev("start", str(second))
    say("broker %d started again" % second)
    wait_until("the cancel", lambda: not is_moving(cluster))
    return before, assignment(cluster)


def table(rows):
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        say("  %-*s  %s" % (width, name, value))


def text_files(named):
    files = named or [f for pattern in DEFAULT_TEXT for f in glob.glob(pattern, recursive=True)]
    files = [f for f in files if os.path.isfile(f) and os.path.getsize(f) > 0]
    if not files:
        sys.exit("demo: no text to send: name a file")
    return files[:2000]


def show(assignment):
    return " ".join("%d:[%s]" % (p, ",".join(map(str, r))) for p, r in sorted(assignment.items()))


def latency(phases, name):
    found = [p for p in phases if p["name"] == name and p["records"] > 0]
    return "p50 %.2f ms, p99 %.2f ms" % (found[0]["p50_us"] / 1e3, found[0]["p99_us"] / 1e3) if found else "-"


def report(verdict, seconds, moved_bytes, final, before, restored):
    phases = verdict["phases"]
    say("\n== What happened")
    table([
        ("records written", verdict["written"]),
        ("records read", verdict["read"]),
        ("lost", verdict["lost"]),
        ("duplicated", verdict["duplicated"]),
        ("partitions out of order", verdict["misordered"]),
        ("bytes moved in act one", "%.1f MB" % (moved_bytes / 1e6)),
        ("seconds", "%.2f" % seconds),
        ("rate", "%.1f MB/s" % (moved_bytes / 1e6 / seconds)),
        ("produce latency before", latency(phases, "before")),
        ("produce latency while moving", latency(phases, "moving")),
        ("assignment after act one", show(final)),
        ("assignment before act two", show(before)),
        ("restored by the cancel", show(restored)),
    ])
    wanted = {p: rotated([4, 5, 6], p) for p in range(PARTITIONS)}
    return (verdict["lost"] == 0 and verdict["duplicated"] == 0 and verdict["misordered"] == 0
            and verdict["failed"] == 0 and verdict["written"] > 0 and final == wanted and before == restored)


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release", help="where the programs are")
    parser.add_argument("files", nargs="*", metavar="FILE", help="text to send, line by line")
    arguments = parser.parse_args()
    files = text_files(arguments.files)
    directory = tempfile.mkdtemp(prefix="klamm-demo-")
    cluster = DevCluster(arguments.build, 6, directory)
    ok = False
    load = None
    try:
        say("six brokers: %s" % cluster.bootstrap)
        brokers = [1, 2, 3]
        cluster.admin("topics", "create", TOPIC, "--replica-assignment", ",".join(":".join(map(str, rotated(brokers, p))) for p in range(PARTITIONS)))
        say("topic %s with %d partitions on brokers 1,2,3; writing %d files" % (TOPIC, PARTITIONS, len(files)))
        load = Load(os.path.join(arguments.build, "tools/demo/demo-load"), cluster.bootstrap, files,
                    os.path.join(directory, "load.log"))
        time.sleep(2)  # the clients' connections and caches settle
        load.phase("before")
        time.sleep(FILL_SECONDS)
        size = directory_bytes(cluster, 1)
        seconds = act_one(cluster, load, directory)
        final = assignment(cluster)
        moved = 3 * max(size, directory_bytes(cluster, 4))
        time.sleep(2)
        before, restored = act_two(cluster, load, directory)
        time.sleep(2)
        verdict = load.finish()
        ok = report(verdict, seconds, moved, final, before, restored)
        say("demo: %d records, %d lost, %d duplicated" % (verdict["written"], verdict["lost"], verdict["duplicated"]))
    finally:
        if load is not None:
            load.kill()
        cluster.stop()
        if ok:
            shutil.rmtree(directory)
        else:
            print("demo: logs and data are kept in %s" % directory, file=sys.stderr)
    return 0 if ok else 1


def directory_bytes(cluster, broker):
    """Bytes of the topic's logs on one broker's disk."""
    pattern = os.path.join(cluster.directory, "broker-%d" % broker, "**", "%s-*" % TOPIC, "*.log")
    return sum(os.path.getsize(f) for f in glob.glob(pattern, recursive=True))


if __name__ == "__main__":
    sys.exit(main())
