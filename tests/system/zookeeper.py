"""A ZooKeeper server of one's own for a test: Debian's jars, a temporary directory, a free port of 127.0.0.1."""

import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from ports import free_ports

JAR = pathlib.Path("/usr/share/java/zookeeper.jar")
LOG_JAR = JAR.with_name("slf4j-simple.jar")  # to stderr; without it ZooKeeper is silent
START_SECONDS = 60
PORT_TRIES = 3
# Starts soon, stays small, and waits for no disk: what is killed is the process, not the machine, and one slow fsync
# holds all brokers up.
QUICK_JAVA = ("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no")

CONFIG = """tickTime={tick_ms}
minSessionTimeout={min_session_ms}
maxSessionTimeout=600000
dataDir={directory}/data
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr
"""


def missing():
    """Why no ZooKeeper can run here; None when it can."""
    if not JAR.exists():
        return "ZooKeeper is not installed: no %s (package zookeeper)" % JAR
    if shutil.which("java") is None:
        return "ZooKeeper cannot run: no java (package default-jre-headless)"
    return None


def require():
    """Skips the test, or the whole class from setUpClass, where no ZooKeeper can run."""
    reason = missing()
    if reason is not None:
        raise unittest.SkipTest("SKIPPED: " + reason)


def _password(session_id):
    """What the server gave the client of the session: 16 bytes of Java's generator with a seed that is the same in all
    servers."""
    mask = (1 << 48) - 1
    state = ((session_id ^ 0xB3415C00) ^ 0x5DEECE66D) & mask
    password = b""
    while len(password) < 16:
        state = (state * 0x5DEECE66D + 0xB) & mask
        password += struct.pack("<I", state >> 16)
    return password


class ZooKeeper:
    """One standalone server. What it stored outlives stop, kill and start; close removes it."""

    def __init__(self, tick_ms=100, min_session_ms=200, java=QUICK_JAVA):
        require()
        self.tick_ms = tick_ms
        self.min_session_ms = min_session_ms
        self.java = java
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="klamm-zookeeper-"))
        self.log_path = self.directory / "log"
        self.process = None
        self.port = None
        for left in reversed(range(PORT_TRIES)):
            self.port = free_ports(1)[0]  # somebody may be faster
            try:
                self.start()
                return
            except AssertionError:
                if left == 0:
                    self.close()
                    raise

    @property
    def address(self):
        return "127.0.0.1:%d" % self.port

    def log(self):
        return self.log_path.read_text(errors="replace")

    def start(self):
        """Starts it, on the same port as before, and waits until it serves."""
        assert self.process is None
        config = self.directory / "zoo.cfg"
        config.write_text(CONFIG.format(tick_ms=self.tick_ms, min_session_ms=self.min_session_ms,
                                        directory=self.directory, port=self.port))
        command = ["java", *self.java, "-cp",
                   "%s:%s" % (JAR, LOG_JAR), "org.apache.zookeeper.server.ZooKeeperServerMain", str(config)]
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while not self._serves():
            if self.process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise AssertionError("ZooKeeper did not start:\n" + self.log()[-4000:])
            time.sleep(0.05)

    def _serves(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as s:
                s.sendall(b"srvr")
                return b"Mode: standalone" in s.makefile("rb").read()
        except OSError:
            return False

    def end_session(self, session_id):
        """At once, as if its time had passed: its ephemeral nodes are gone, and its client hears that it has expired."""
        password = _password(session_id)
        connect = struct.pack(">iqiQi", 0, 0, 10000, session_id, len(password)) + password + b"\0"
        close = struct.pack(">ii", 1, -11)
        with socket.create_connection(("127.0.0.1", self.port), START_SECONDS) as s:
            stream = s.makefile("rb")
            s.sendall(struct.pack(">i", len(connect)) + connect)
            size, _, timeout_ms = struct.unpack(">iii", stream.read(12))
            stream.read(size - 8)
            if timeout_ms > 0:  # else it has ended already
                s.sendall(struct.pack(">i", len(close)) + close)
                stream.read()

    def stop(self):
        """Ends it in an orderly way; what it knows is on disk."""
        self._end(signal.SIGTERM)

    def kill(self):
        """kill -9."""
        self._end(signal.SIGKILL)

    def _end(self, number):
        if self.process is not None:
            self.process.send_signal(number)
            self.process.send_signal(signal.SIGCONT)
            self.process.wait(timeout=30)
            self.process = None

    def restart(self):
        self.kill()
        self.start()

    def pause(self):
        """It stays connected but does nothing, as a machine that hangs."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def clear(self):
        """Forgets everything that was stored. Only while it does not run."""
        assert self.process is None
        shutil.rmtree(self.directory / "data")

    def close(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
