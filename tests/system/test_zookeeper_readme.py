"""The README's example of three hosts, word for word but for the names that this machine does not have."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import zookeeper
from ports import free_ports
from servers import KLAMM, Server
from support import kcat, wait_until

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
LINES = ["line %d" % i for i in range(100)]


def example():
    """The properties, and the command that makes a topic."""
    with open(README, encoding="utf-8") as file:
        section = re.search(r"^## Run it on three hosts\n(.*?)^## ", file.read(), re.S | re.M)[1]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    return [line for line in lines if re.match(r"[a-z.]+=", line)], next(l for l in lines if l.startswith("klamm topics"))


class Readme(unittest.TestCase):
    def setUp(self):
        zookeeper.require()
        self.zookeeper = zookeeper.ZooKeeper()
        self.addCleanup(self.zookeeper.close)
        self.root = tempfile.mkdtemp(prefix="klamm-readme-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def host(self, number, port, properties):
        """The server that the example describes for this host."""
        server = Server(self.root, "kafka%d" % number, self.zookeeper.address, port)
        self.addCleanup(server.close)
        text = "\n".join(properties).replace("broker.id=1", "broker.id=%d" % number)
        text = text.replace("zoo1:2181,zoo2:2181,zoo3:2181", self.zookeeper.address)
        text = text.replace("kafka1:9092", server.address).replace("/disk1", server.log_dirs[0]).replace("/disk2", server.log_dirs[1])
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return server

    def test_three_hosts(self):
        properties, command = example()
        ports = free_ports(3)
        servers = [self.host(number, port, properties) for number, port in enumerate(ports, 1)]
        for server in servers:
            check = subprocess.run([KLAMM, "server", "--config", server.config, "--check"], capture_output=True, text=True,
                                   check=False)
            self.assertEqual((check.returncode, check.stderr), (0, ""))
            server.start("--override", "listeners=PLAINTEXT://%s" % server.address)
        for number, server in enumerate(servers, 1):
            server.wait_log("broker %d is ready" % number)
        bootstrap = ",".join(server.address for server in servers)
        words = [KLAMM, *command.replace("kafka1:9092,kafka2:9092", bootstrap).split()[1:]]
        subprocess.run(words, check=True, capture_output=True)
        wait_until("the topic", lambda: '6 partitions' in kcat("-b", bootstrap, "-L", "-t", "orders").stdout)
        kcat("-b", bootstrap, "-t", "orders", "-P", "-X", "acks=all", text="\n".join(LINES) + "\n")
        read = kcat("-b", bootstrap, "-t", "orders", "-C", "-e", "-q", "-o", "beginning").stdout.splitlines()
        self.assertEqual(sorted(read), sorted(LINES))
        for server in servers:
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
