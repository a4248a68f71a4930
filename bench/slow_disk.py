"""Benchmark slow_disk: what a broker does meanwhile when the partition that moves away from it lies on a slow disk.
bench.py runs it."""

import os
import threading
import time

import big_moves
from devcluster import DevCluster

CGROUPS = "/sys/fs/cgroup/blkio"
LIMIT = "blkio.throttle.read_bps_device"
READ_RATE = 50 * big_moves.MB  # bytes a second
RATE = 100  # batches of 16 KB a second


def disk_number(path):
    """MAJOR:MINOR of the whole disk that path lies on, or None when there is none."""
    number = os.stat(path).st_dev
    folder = os.path.realpath("/sys/dev/block/%d:%d" % (os.major(number), os.minor(number)))
    if os.path.exists(os.path.join(folder, "partition")):
        folder = os.path.dirname(folder)
    try:
        with open(os.path.join(folder, "dev"), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


class SlowDisk:
    """A control group that reads READ_RATE bytes a second from the disk at most."""

    def __init__(self, path):
        self.folder = os.path.join(CGROUPS, "klamm-bench-%d" % os.getpid())
        os.mkdir(self.folder)
        number = disk_number(path)
        try:
            if number is None:
                raise OSError("%s lies on no disk" % path)
            self.write(LIMIT, "%s %d" % (number, READ_RATE))
        except OSError:
            os.rmdir(self.folder)
            raise

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(text)

    def take(self, pid):
        self.write("cgroup.procs", str(pid))

    def close(self):
        """After its processes have ended."""
        for _ in range(50):
            try:
                os.rmdir(self.folder)
                return
            except OSError:  # the kernel is still at it
                time.sleep(0.1)


def produce(programs, cluster, seconds, into):
    into.append(programs.kgen(cluster.bootstrap, "steady", partitions=1, acks=1, record_size=1000, batch_bytes=16384, rate=RATE,
                              bytes=int(RATE * 16384 * seconds)))


def slow_disk_once(programs, size):
    """(p99 and longest answer to a producer in seconds, MB/s of the move)"""
    with DevCluster(programs.build, 2) as cluster:
        disk = SlowDisk(cluster.directory)
        try:
            big_moves.create(cluster, "steady", 1, [1])
            big_moves.create(cluster, "cold", 1, [1])
            big_moves.fill(programs, cluster, "cold", 1, size)
            produce(programs, cluster, 1, [])
            big_moves.uncache(big_moves.log_files(cluster, 1, "cold"))
            disk.take(cluster.process.pid)
            results = []
            load = threading.Thread(target=produce, args=(programs, cluster, 0.8 * size / READ_RATE, results))
            started = time.monotonic()
            big_moves.alter(cluster, "cold", {0: [2]})
            load.start()
            load.join()
            big_moves.await_idle(cluster)
            seconds = time.monotonic() - started
        finally:
            cluster.stop()
            disk.close()
    return results[0]["p99_us"] / 1e6, results[0]["max_us"] / 1e6, size / big_moves.MB / seconds


def bench_slow_disk(programs, report, runs):
    """One broker leads a topic that is written and another that moves away, from a disk of 50 MB/s."""
    size = big_moves.GB // 2 if programs.is_quick else 2 * big_moves.GB
    try:
        rows = [slow_disk_once(programs, size) for _ in range(runs)]
    except OSError as error:
        report.skip("slow_disk", "no control group slows the disk down: %s" % error)
        return
    report.figure("slow_disk_produce_p99", [row[0] for row in rows], "s")
    report.figure("slow_disk_produce_longest", [row[1] for row in rows], "s")
    report.figure("slow_disk_copy", [row[2] for row in rows], "MB/s")
