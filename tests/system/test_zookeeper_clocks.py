"""Brokers whose wall clocks differ by hours, and jump: nothing that has to hold depends on them. libfaketime moves
CLOCK_REALTIME of each process and leaves CLOCK_MONOTONIC alone, as a wrong clock of a real machine does."""

import datetime
import glob
import os
import re
import time
import unittest

import metrics
import zookeeper
from ports import free_ports
from servers import ServerCluster, ServerTest
from support import BUILD, wait_until

LIBRARY = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(2000)]
SMALL = ("-X", "batch.size=16384")  # fits a segment of these tests
HOURS = {1: -7, 2: 0, 3: 5, 4: 13}  # each clock at the start
NEAR_SECONDS = 300  # two moments that are the same but for the clock


class ClockCluster(ServerCluster):
    def new_server(self, name, port=None, **settings):
        server = super().new_server(name, port, **{"klamm.http.port": free_ports(1)[0], **settings})
        clock = os.path.join(server.directory, "clock")
        server.variables = {"LD_PRELOAD": LIBRARY[0], "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_CACHE_DURATION": "1",
                            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        self.clock_set(server, HOURS[server.settings["broker.id"]])
        return server

    @staticmethod
    def clock_set(server, hours):
        path = server.variables["FAKETIME_TIMESTAMP_FILE"]
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write("%+dh\n" % hours)
        os.replace(path + ".new", path)


@unittest.skipIf("asan" in BUILD or "tsan" in BUILD, "a sanitizer has to be the first library of the process")
class Clocks(ServerTest):
    brokers = 4
    settings = {"log.retention.check.interval.ms": 300}

    @classmethod
    def setUpClass(cls):
        zookeeper.require()
        if not LIBRARY:
            raise unittest.SkipTest("SKIPPED: no clock can be set: no libfaketime (package libfaketime)")
        cls.cluster = ClockCluster(cls.brokers, **cls.settings)

    def hours_off(self, broker):
        """How far the newest line of its log is from now, as the broker's clock has it."""
        stamp = re.findall(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", self.cluster.servers[broker].log(), re.M)[-1]
        wall = datetime.datetime.fromisoformat(stamp + "+00:00").timestamp()
        return round((wall - time.time()) / 3600)

    def jump(self, hours):
        """Sets the clocks, {broker: hours}, and waits until the processes have looked."""
        for broker, offset in hours.items():
            self.cluster.clock_set(self.cluster.servers[broker], offset)
        for broker, offset in hours.items():
            wait_until("the clock of broker %d to jump" % broker, lambda b=broker, o=offset: self.clock_is(b, o))

    def clock_is(self, broker, hours):
        """As the Date of its HTTP answers says; a broker that hangs is not asked."""
        server = self.cluster.servers[broker]
        if server.is_paused:
            return True
        date = metrics.get(server.settings["klamm.http.port"], "/healthz")[1]["date"]
        wall = datetime.datetime.strptime(date, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=datetime.timezone.utc)
        return abs(wall.timestamp() - time.time() - hours * 3600) < NEAR_SECONDS

    def ages(self, broker):
        """klamm_move_age_seconds as that broker tells it."""
        page = metrics.get(self.cluster.servers[broker].settings["klamm.http.port"], "/metrics")[2]
        return [float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
                if line.startswith("klamm_move_age_seconds{")]

    def create_with(self, topic, rows, *settings):
        options = [word for setting in settings for word in ("--config", setting)]
        self.cluster.admin("topics", "create", topic, "--replica-assignment",
                           ",".join(":".join(map(str, row)) for row in rows), *options)
        wait_until("leaders of " + topic, lambda: all(p["leader"] >= 0 for p in self.partitions(topic)))

    def tearDown(self):
        super().tearDown()
        for server in self.cluster.servers.values():
            if server.process is None:
                server.start()
        self.cluster.wait_all_ready()
        self.jump(HOURS)

    def test_a_move_and_a_failover(self):
        for broker, hours in HOURS.items():
            self.assertEqual(self.hours_off(broker), hours)
        self.create("apart", [1, 2, 3])
        self.produce("apart", LINES)
        self.assertEqual(self.consume("apart"), LINES)
        self.hold(4)
        self.execute("apart", [4, 2, 3])
        started = self.report().moves["apart", 0]["started_ms"]
        off = started / 1000 - time.time() - HOURS[self.active()] * 3600
        self.assertLess(abs(off), NEAR_SECONDS)  # by the clock of its controller
        wait_until("the start to be kept", lambda: self.cluster.znode("/klamm/moves/apart:0"))
        old = self.kill_active()
        others = [broker for broker in (1, 2, 3) if broker != old]
        self.jump({broker: -20 for broker in others})  # to before the start
        self.assertEqual(self.report().moves["apart", 0]["started_ms"], started)
        ages = wait_until("the age of the move", lambda: self.ages(self.active()))
        self.assertEqual(ages, [0.0])  # and not the 20 hours that the clock lacks
        self.cluster.servers[old].start()
        self.cluster.servers[4].resume()
        self.wait_idle("apart")
        self.wait_isr("apart", [4, 2, 3])
        self.assertEqual(self.consume("apart"), LINES)
        for hours in (9, -9):
            self.jump({broker: hours * broker for broker in self.cluster.servers})
            self.produce("apart", LINES)
        self.assertEqual(self.consume("apart"), LINES * 3)
        for broker in others:
            self.assertNotIn("expired", self.cluster.servers[broker].log())

    def test_retention_goes_by_the_clock_of_the_broker_alone(self):
        """Under a retention of a day all stays, wherever it lies; what is old by a broker's clock goes there alone."""
        self.create_with("day", [[1, 2, 3, 4]], "retention.ms=86400000", "segment.bytes=20000")
        self.create_with("second", [[3], [1]], "retention.ms=1000", "segment.bytes=20000")
        self.produce("day", LINES, *SMALL)
        self.produce("second", LINES, "-p", "0", *SMALL)
        self.produce("second", LINES, "-p", "1", *SMALL)
        wait_until("what is five hours old", lambda: len(self.consume("second", "-p", "0")) < len(LINES))
        self.assertEqual(self.consume("second", "-p", "1"), LINES)  # in the future, for broker 1
        self.jump({1: -23, 2: 23, 3: -1, 4: 20})
        self.produce("second", LINES, "-p", "1", *SMALL)
        self.jump({1: 9})
        wait_until("what is nine hours old now", lambda: len(self.consume("second", "-p", "1")) < len(LINES))
        self.assertEqual(self.consume("day"), LINES)


if __name__ == "__main__":
    unittest.main()
