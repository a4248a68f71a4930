"""The active controller kills itself, with SIGKILL, between two durable steps of a move: real processes, a real
ZooKeeper. The list of moves is the same before and after, and the moves end as if nothing had been."""

import json
import os
import subprocess
import unittest

import protocol
from servers import KLAMM, ServerTest
from support import wait_until

STRAY_SECONDS = 120  # a broker looks twice, 30 s apart
LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(2000)]


class FaultPoints(ServerTest):
    brokers = 5

    @classmethod
    def setUpClass(cls):
        with open(KLAMM, "rb") as program:
            if b"KLAMM_FAULT_DIR" not in program.read():
                raise unittest.SkipTest("SKIPPED: a release build has no fault points")
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.whole = {}  # the brokers of each topic that must have its files in the end, and no other
        self.find_controller()

    def find_controller(self):
        self.cluster.wait_all_ready()
        self.controller, *self.others = [self.active()] + [b for b in self.cluster.servers if b != self.active()]

    def alter_until(self, point, action, plan, *options):
        """Asks for moves; waits until the controller has ended at the point. The one who asked is not heard of again."""
        name = os.path.join(self.cluster.fault_dir, point)
        with open(name, "w", encoding="utf-8"):
            pass
        asker = subprocess.Popen([KLAMM, "reassign", action, "--reassignment-json-file", plan, *options,
                                  "--bootstrap-server", self.cluster.bootstrap], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until("the end " + point, lambda: not os.path.exists(name))
            self.assertEqual(self.cluster.servers[self.controller].wait_end(), -9)
        finally:
            asker.kill()
            asker.wait()

    def topic(self, name):
        return self.cluster.znode("/brokers/topics/" + name)

    def listed(self, topic):
        """(replicas, adding, removing) of each running move of the topic, as the new controller tells them."""
        moves = json.loads(self.cluster.admin("reassign", "--list", "--json").stdout)["reassignments"]
        return [(m["replicas"], m["adding"], m["removing"]) for m in moves if m["topic"] == topic]

    def stored(self, topic):
        node = self.topic(topic)
        return [(node["partitions"][p], adding, node["removing_replicas"].get(p, []))
                for p, adding in node["adding_replicas"].items()]

    def wait_successor(self):
        self.cluster.end_sessions(self.controller)
        wait_until("another controller", lambda: self.cluster.controller() not in (None, self.controller))

    def assert_whole(self, topic, *replicas):
        """The move is over: the list, the in-sync set, the records and the files are what they should be."""
        self.cluster.wait_all_ready()
        self.wait_idle(topic)
        self.wait_isr(topic, replicas)
        self.assertEqual(self.topic(topic)["partitions"], {"0": list(replicas)})
        self.assertNotIn("original_replicas", self.topic(topic))
        wait_until("every broker to know it", lambda: all(
            protocol.metadata(server.address, topic)[0] == 0 for server in self.cluster.servers.values()))
        self.assertEqual(self.consume(topic), LINES)
        self.whole[topic] = set(replicas)

    def tearDown(self):
        """Files of others go, at the latest when their brokers find that they are not theirs."""
        super().tearDown()
        for topic, replicas in self.whole.items():
            wait_until("files of %s on %s alone" % (topic, replicas),
                       lambda name=topic, brokers=replicas: self.folders(name) == brokers, STRAY_SECONDS,
                       told=lambda name=topic: ", they are on %s\n%s" % (self.folders(name), self.cluster.logs()))

    def held_move(self, topic, point):
        """A move whose target hangs: it cannot end, so that the lists can be compared."""
        a, b, c, target = self.others
        self.create(topic, [a, b, c])
        self.produce(topic, LINES)
        self.hold(target)
        self.controller = self.active()
        self.alter_until(point, "--execute", self.plan(topic, [target, b, c]))
        return a, b, c, target

    def assert_list_is_kept(self, topic):
        before = self.stored(topic)
        self.assertEqual(len(before), 1)
        self.wait_successor()
        self.assertEqual(wait_until("the list", lambda: self.listed(topic)), before)
        self.assertEqual(self.stored(topic), before)

    def test_before_the_move_is_stored(self):
        a, b, c, target = self.held_move("unborn", "before-U1")
        self.wait_successor()
        self.assertEqual(self.listed("unborn"), [])
        self.cluster.servers[target].resume()
        self.assert_whole("unborn", a, b, c)

    def test_after_the_move_is_stored(self):
        for point in ("after-U1", "before-A1", "after-A1"):
            with self.subTest(point):
                topic = point.lower()
                self.find_controller()
                a, b, c, target = self.held_move(topic, point)
                self.assertEqual(self.topic(topic)["original_replicas"], {"0": [a, b, c]})
                self.assert_list_is_kept(topic)
                self.cluster.servers[target].resume()
                self.assert_whole(topic, target, b, c)

    def test_while_the_move_ends(self):
        for point in ("before-B3", "after-B3", "before-B4", "after-B4", "before-B6", "after-B6"):
            with self.subTest(point):
                topic = point.lower()
                self.find_controller()
                a, b, c, target = self.others
                self.create(topic, [a, b, c])
                self.produce(topic, LINES)
                epoch = self.state(topic)["leader_epoch"]
                self.alter_until(point, "--execute", self.plan(topic, [target, b, c]))
                is_stored = point == "after-B6"
                self.assertEqual(self.stored(topic), [] if is_stored else [([target, b, c, a], [target], [a])])
                isr = {target, b, c} if point in ("after-B4", "before-B6", "after-B6") else {a, b, c, target}
                self.assertEqual(set(self.state(topic)["isr"]), isr)
                self.wait_successor()
                self.assert_whole(topic, target, b, c)
                self.assertGreaterEqual(self.state(topic)["leader_epoch"], epoch + 3)

    def test_row_51_targets_that_die_before_one_of_them_leads(self):
        a, b, first, second = self.others
        self.create("row51", [a, b])
        self.produce("row51", LINES)
        self.alter_until("before-B3", "--execute", self.plan("row51", [first, second]))
        before = self.stored("row51")
        for broker in (first, second):
            self.cluster.kill(broker)
        for broker in (first, second):
            wait_until("broker %d gone" % broker, lambda path="/brokers/ids/%d" % broker: self.cluster.znode(path) is None)
        self.wait_successor()
        wait_until("an old leader", lambda: self.state("row51")["leader"] in (a, b))
        self.assertEqual(wait_until("the list", lambda: self.listed("row51")), before)
        self.assertEqual(self.stored("row51"), before)
        self.assertEqual(self.consume("row51"), LINES)
        self.assert_whole("row51", first, second)

    def joined_move(self, topic):
        """A move of which one target has joined the in-sync set and the other one hangs."""
        a, first, second = self.others[:3]
        self.create(topic, [a])
        self.produce(topic, LINES)
        self.hold(second)
        self.controller = self.active()
        plan = self.plan(topic, [first, second])
        self.reassign("--execute", plan)
        self.wait_isr(topic, [a, first])
        return a, first, second, plan

    def test_in_a_cancel(self):
        for point in ("before-U1-cancel", "after-U1-cancel", "before-U3-hand-over", "after-U3-hand-over",
                      "before-U3-drop", "after-U3-drop"):
            with self.subTest(point):
                topic = point.lower()
                self.find_controller()
                a, first, second, plan = self.joined_move(topic)
                before = self.stored(topic)
                self.alter_until(point, "--cancel", plan)
                after = before if point == "before-U1-cancel" else []
                self.assertEqual(self.stored(topic), after)
                self.wait_successor()
                wait_until("the same list", lambda: self.listed(topic) == after)
                self.cluster.servers[second].resume()
                if point == "before-U1-cancel":
                    self.assert_whole(topic, first, second)
                else:
                    self.assert_whole(topic, a)

    def test_in_an_override(self):
        for point in ("after-U1-override", "after-U3-hand-over", "after-U3-drop"):
            with self.subTest(point):
                topic = "other-" + point.lower()
                self.find_controller()
                a, first, second, _ = self.joined_move(topic)
                third = next(b for b in self.others if b not in (a, first, second))
                self.alter_until(point, "--execute", self.plan(topic, [third, second]), "--additional")
                self.assertEqual(self.stored(topic), [([third, second, a], [third, second], [a])])
                self.assert_list_is_kept(topic)
                self.cluster.servers[second].resume()
                self.assert_whole(topic, third, second)


if __name__ == "__main__":
    unittest.main()
