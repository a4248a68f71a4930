"""A cluster of `klamm server` processes on a real ZooKeeper, and what it wrote there."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import protocol
import zookeeper
from moves_report import Report
from ports import free_ports
from support import BUILD, DEADLINE_SECONDS, ClusterTest, wait_until
from zookeeper_sessions import Driver

KLAMM = os.path.join(BUILD, "klamm")
CHROOT = "/cluster1"
SESSION_MS = 300000  # no session ends because a machine is slow: tests end those of brokers that are dead or hang

SETTINGS = {
    "zookeeper.session.timeout.ms": SESSION_MS,
    "zookeeper.connection.timeout.ms": 30000,
    "controlled.shutdown.retry.backoff.ms": 500,
    "controller.socket.timeout.ms": 3000,
    "replica.fetch.backoff.ms": 200,
    "log.segment.delete.delay.ms": 500,
    "auto.leader.rebalance.enable": "false",
}


class Server:
    """One process. Its directory, with two log directories, and its port outlive it."""

    def __init__(self, root, name, connect, port, **settings):
        self.name = name
        self.port = port
        self.directory = os.path.join(root, name)
        self.log_dirs = [os.path.join(self.directory, part) for part in ("a", "b")]
        self.config = os.path.join(self.directory, "server.properties")
        self.log_path = os.path.join(self.directory, "log")
        self.process = None
        self.is_paused = False
        self.fault_dir = None
        self.variables = {}  # of the environment, beside ours
        listeners = settings.pop("listeners", "PLAINTEXT://127.0.0.1:%d")  # %d: the port that clients are told
        self.settings = {**SETTINGS, "zookeeper.connect": connect, "log.dirs": ",".join(self.log_dirs),
                         "listeners": listeners % port}
        os.makedirs(self.directory)
        self.configure(**settings)

    @property
    def address(self):
        return "127.0.0.1:%d" % self.port

    def configure(self, **settings):
        """From the next start on."""
        self.settings.update(settings)
        with open(self.config, "w", encoding="utf-8") as file:
            for key, value in self.settings.items():
                file.write("%s=%s\n" % (key, value))

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self, *options):
        """Only while it is down. The log is that of this start alone."""
        assert self.process is None
        variables = {**os.environ, **self.variables}
        if self.fault_dir:
            variables["KLAMM_FAULT_DIR"] = self.fault_dir
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([KLAMM, "server", "--config", self.config, *options],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=variables)

    def wait_log(self, pattern):
        """The match of the first line that has the pattern."""
        def look():
            found = re.search(pattern, self.log())
            if found is None and self.process is not None and self.process.poll() is not None:
                raise AssertionError("%s ended with status %d:\n%s" % (self.name, self.process.returncode, self.log()))
            return found
        try:
            return wait_until("'%s' in the log of %s" % (pattern, self.name), look)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.log())) from None

    def wait_ready(self):
        self.wait_log("is ready, epoch")

    def wait_end(self):
        status = self.process.wait(DEADLINE_SECONDS)
        self.process = None
        self.is_paused = False
        return status

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait_end()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        return self.wait_end()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_paused = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_paused = False

    def close(self):
        if self.process is not None:
            self.resume()
            self.kill()


class ServerCluster:
    """As DevCluster, for the tests that know only that interface; plus the servers and the znodes."""

    def __init__(self, brokers, java=zookeeper.QUICK_JAVA, **settings):
        self.root = tempfile.mkdtemp(prefix="klamm-servers-")
        self.fault_dir = os.path.join(self.root, "faults")  # a file there names a fault point: HACKING.md
        os.makedirs(self.fault_dir)
        self.zookeeper = zookeeper.ZooKeeper(java=java)
        self.connect = self.zookeeper.address + CHROOT
        self.settings = settings
        ports = free_ports(brokers)
        self.servers = {}
        self.sessions = None
        self.asked = 0
        try:
            for broker in range(1, brokers + 1):
                self.servers[broker] = self.new_server("broker-%d" % broker, ports[broker - 1], **{"broker.id": broker})
                self.servers[broker].start()
            for server in self.servers.values():
                server.wait_ready()
            self.sessions = Driver()
            self.sessions.open("reader", self.connect, timeout_ms=SESSION_MS)
        except BaseException:
            self.stop()
            raise

    def new_server(self, name, port=None, **settings):
        server = Server(self.root, name, self.connect, port or free_ports(1)[0], **{**self.settings, **settings})
        server.fault_dir = self.fault_dir
        return server

    def running(self):
        """{id: server} of those that can answer."""
        return {broker: server for broker, server in self.servers.items()
                if server.process is not None and not server.is_paused}

    @property
    def bootstrap(self):
        return ",".join(server.address for server in self.running().values())

    def admin(self, command, *arguments, check=True):
        result = subprocess.run([KLAMM, command, *arguments, "--bootstrap-server", self.bootstrap],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS)
        if check and result.returncode != 0:
            raise AssertionError("klamm %s %s ended with status %d:\n%s%s" % (
                command, " ".join(arguments), result.returncode, result.stdout, result.stderr))
        return result

    def ask(self, kind, path):
        self.asked += 1
        return self.sessions.ask(kind, "reader", self.asked, path)

    def znode(self, path):
        """The JSON of a node; None when it is not there."""
        answer = self.ask("get", path)
        return json.loads(answer.split(" ", 2)[2]) if answer.startswith("ok ") else None

    def children(self, path):
        answer = self.ask("children", path)
        return [name for name in answer.split(" ", 2)[2].split(",") if name] if answer.count(" ") > 1 else []

    def controller(self):
        """The id of the active controller, which may be about to change; None while there is none."""
        node = self.znode("/controller")
        return None if node is None else node["brokerid"]

    def wait_all_ready(self):
        """Starts what is down; returns when every broker is registered and knows the others."""
        for server in self.servers.values():
            if server.process is None:
                server.start()
        for broker, server in self.servers.items():
            server.wait_ready()
            wait_until("broker %d registered" % broker, lambda path="/brokers/ids/%d" % broker: self.znode(path))
        self.wait_acquainted()

    def wait_acquainted(self):
        """Every broker that runs knows every other one that does: the controller tells them one after the other."""
        running = self.running()
        for broker, server in running.items():
            wait_until("broker %d to know %s" % (broker, sorted(running)),
                       lambda address=server.address: running.keys() <= protocol.brokers(address))

    def kill(self, broker):
        """kill -9, and as much later as sessions last: nobody waits for that."""
        self.servers[broker].kill()
        self.end_sessions(broker)

    def end_sessions(self, broker):
        """Those of a broker that is dead or hangs: it is no longer registered, and no controller."""
        paths = ["/brokers/ids/%d" % broker] + ["/controller"] * (self.controller() == broker)
        for answer in [self.ask("owner", path) for path in paths]:
            if answer.startswith("ok "):
                self.zookeeper.end_session(int(answer.split()[1], 16))

    def logs(self):
        return "\n".join("---- %s\n%s" % (server.name, server.log()[-3000:]) for server in self.servers.values())

    def stop(self, check=False):
        """With check, as at the end of a test class, every broker must end cleanly."""
        statuses = {}
        for broker, server in self.servers.items():
            if check and server.process is not None:
                server.resume()
                statuses[broker] = server.stop()
            server.close()
        if self.sessions is not None:
            self.sessions.close()
        self.zookeeper.close()
        shutil.rmtree(self.root, ignore_errors=True)
        if any(statuses.values()):
            raise AssertionError("exit statuses of the brokers: %s" % statuses)


class ServerTest(ClusterTest):
    """A test class with a cluster of its own; each test finds every broker up and leaves no move behind."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        zookeeper.require()
        cls.cluster = ServerCluster(cls.brokers, **cls.settings)

    def addresses(self):
        """Of the brokers that run and answer."""
        return [server.address for server in self.cluster.running().values()]

    def report(self):
        """What the controller tells of moves to those who ask for more."""
        def look():
            controller = self.cluster.controller()
            if controller is None or self.cluster.servers[controller].process is None:
                return None
            found = Report(self.cluster.servers[controller].address)
            return found if found.code == 0 else None
        return wait_until("a report", look)

    def setUp(self):
        self.cluster.wait_all_ready()

    def tearDown(self):
        if self.cluster.zookeeper.process is None:
            self.cluster.zookeeper.start()
        for server in self.cluster.servers.values():
            if server.process is not None:
                server.resume()

    def active(self):
        return wait_until("a controller", self.cluster.controller)

    def kill_active(self):
        """kill -9 of the controller; returns its id when there is another one."""
        killed = self.active()
        self.cluster.kill(killed)
        wait_until("another controller", lambda: self.cluster.controller() not in (None, killed))
        return killed

    def hold(self, *brokers):
        """They stay registered but do nothing, so that moves to them wait. None of them is the
        controller: one that hangs would not answer, and nobody could take over before its session ends."""
        while self.active() in brokers:
            killed = self.kill_active()
            wait_until("broker %d gone" % killed, lambda path="/brokers/ids/%d" % killed: self.cluster.znode(path) is None)
            self.cluster.servers[killed].start()
            self.cluster.servers[killed].wait_ready()
            self.cluster.wait_acquainted()
        for broker in brokers:
            self.cluster.servers[broker].pause()

    def state(self, topic, partition=0):
        """The JSON of a partition's state znode."""
        return self.cluster.znode("/brokers/topics/%s/partitions/%d/state" % (topic, partition))

    def folders(self, topic):
        """Brokers with a folder of the topic's name, whole: not set aside, not about to be deleted."""
        return {broker for broker, server in self.cluster.servers.items() for path in server.log_dirs
                for name in os.listdir(path) if name.rsplit("-", 1)[0] == topic}

    def isr(self, topic):
        return [sorted(p["isr"]) for p in self.partitions(topic)]

    def wait_isr(self, topic, *rows):
        wait_until("in-sync sets of " + topic, lambda: self.isr(topic) == [sorted(row) for row in rows])

    def execute(self, topic, *rows, options=(), check=True):
        """Starts moves: row i is the target of partition i, None leaves it out."""
        return self.reassign("--execute", self.plan(topic, *rows), *options, check=check)

    def reassign(self, action, path, *options, check=True):
        return self.cluster.admin("reassign", action, "--reassignment-json-file", path, *options, check=check)

    def plan(self, topic, *rows):
        handle, path = tempfile.mkstemp(suffix=".json", dir=self.cluster.root)
        with os.fdopen(handle, "w") as file:
            json.dump({"version": 1, "partitions": [{"topic": topic, "partition": i, "replicas": row}
                                                    for i, row in enumerate(rows) if row is not None]}, file)
        return path

    def wait_idle(self, topic):
        def is_idle():
            node = self.cluster.znode("/brokers/topics/" + topic)
            return node is not None and not node["adding_replicas"] and not node["removing_replicas"]
        wait_until("moves of %s to end" % topic, is_idle)

    def replicas(self, topic):
        return [p["replicas"] for p in self.partitions(topic)]
