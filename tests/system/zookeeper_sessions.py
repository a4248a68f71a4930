"""The program zookeeper_driver as an object: sessions with a real ZooKeeper through klamm's own backend."""

import os
import queue
import subprocess
import threading
import time

PROGRAM = os.path.join(os.environ["KLAMM_BUILD"], "tests/system/zookeeper_driver")
DEADLINE_SECONDS = 60
TIMEOUT_MS = 60000  # no session ends because a machine is slow


class Driver:
    """The program zookeeper_driver: send a command, wait for the lines it causes."""

    def __init__(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.arrived = queue.Queue()
        self.lines = []  # all, in order
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.arrived.put(line.rstrip("\n"))

    def send(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def wait(self, start):
        """The next line that begins with `start` after those already taken; the ones before it are passed over."""
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                line = self.arrived.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError("no line '%s ...' came; there were:\n%s" % (start, "\n".join(self.lines))) from None
            self.lines.append(line)
            if line.startswith(start):
                return line

    def wait_for(self, line):
        """This very line, wherever it is or will be."""
        if line not in self.lines:
            self.wait(line)

    def ask(self, kind, name, tag, *words):
        """One call and what it answers, without the tag."""
        self.send(kind, name, tag, *words)
        prefix = "%s answer %s " % (name, tag)
        return self.wait(prefix)[len(prefix):].rstrip()

    def open(self, name, *words, timeout_ms=TIMEOUT_MS):
        self.send("open", name, timeout_ms, *words)
        self.wait(name + " state connected")

    def count(self, start):
        return sum(line.startswith(start) for line in self.lines)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE_SECONDS)
        self.reader.join()
        self.process.stdout.close()
        return self.process.returncode
