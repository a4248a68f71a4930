"""Apache Kafka's brokers in ZooKeeper mode beside ours, fetched from Maven Central; imported once KLAMM_BUILD is set."""

import os
import shutil
import socket
import subprocess
import tempfile

import servers
from support import wait_until

VERSION = "3.9.1"  # the last line with ZooKeeper mode
FETCH_SECONDS = 300
START_SECONDS = 180
JAVA = ("-Xms512m", "-Xmx512m")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>klamm</groupId><artifactId>bench-kafka</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%s</version>
  </dependency></dependencies>
</project>
""" % VERSION
SETTINGS = {"auto.leader.rebalance.enable": "false", "auto.create.topics.enable": "false", "num.io.threads": 4,
            "num.network.threads": 2, "broker.id.generation.enable": "false"}


def fetch():
    """(directory of the jars, None), or (None, why there are none)."""
    if shutil.which("mvn") is None:
        return None, "mvn is not installed"
    directory = tempfile.mkdtemp(prefix="klamm-kafka-")
    with open(os.path.join(directory, "pom.xml"), "w", encoding="utf-8") as file:
        file.write(POM)
    try:
        done = subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"], cwd=directory,
                              capture_output=True, text=True, check=False, timeout=FETCH_SECONDS)
        reason = None if done.returncode == 0 else (done.stdout.strip() or "status %d" % done.returncode).splitlines()[0]
    except subprocess.TimeoutExpired:
        reason = "Maven did not end within %d s" % FETCH_SECONDS
    if reason is not None:
        shutil.rmtree(directory, ignore_errors=True)
        return None, reason
    return os.path.join(directory, "jars"), None


class Broker(servers.Server):
    """A process of Kafka's, with the interface of ours."""

    jars = None

    def start(self, *options):
        assert self.process is None
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(["java", *JAVA, "-cp", os.path.join(self.jars, "*"), "kafka.Kafka", self.config],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _accepts(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def wait_ready(self):
        """Until its port is open; the cluster looks for its registration."""
        wait_until("%s to listen" % self.name, self._accepts, START_SECONDS)


class Cluster(servers.ServerCluster):
    """Brokers of Kafka on a ZooKeeper of their own."""

    def new_server(self, name, port=None, **settings):
        return Broker(self.root, name, self.connect, port, **{**SETTINGS, **self.settings, **settings})
