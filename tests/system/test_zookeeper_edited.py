"""Znodes that somebody edited by hand while the cluster runs: nothing is lost, and what is mended goes on."""

import json
import os
import unittest

import protocol
from servers import ServerTest
from support import wait_until

LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(2000)]


class Edited(ServerTest):
    brokers = 4

    def edit(self, kind, path, *arguments):
        self.cluster.asked += 1
        answer = self.cluster.sessions.ask(kind, "reader", "edit%d" % self.cluster.asked, path, *arguments)
        self.assertRegex(answer, "^ok")

    def files(self, topic):
        """(broker, folder) of everything in the log directories that belongs to the topic."""
        return sorted((broker, name) for broker, server in self.cluster.servers.items() for path in server.log_dirs
                      for name in os.listdir(path) if name.startswith(topic))

    def test_a_state_that_no_controller_left_is_left_alone_until_it_is_mended(self):
        """It names a broker that never had a replica. Who followed it would lose everything."""
        self.create("wrong", [1, 2, 3], [2, 3, 1])
        for partition in ("0", "1"):
            self.produce("wrong", LINES, "-p", partition)
        before = self.files("wrong")
        path = "/brokers/topics/wrong/partitions/0/state"
        node = self.state("wrong")
        wrong = dict(node, leader=4, isr=[4])
        self.edit("set", path, json.dumps(wrong, separators=(",", ":")), -1)
        old = self.kill_active()
        new = self.cluster.servers[self.active()]
        new.wait_log(r"WARN  controller: wrong-0 is left alone: its state %s names leader 4 and the in-sync set \[4\] "
                     r"under epoch %d, but the replicas are \[1,2,3\]" % (path, node["leader_epoch"]))
        self.produce("wrong", LINES, "-p", "1")
        self.assertEqual(self.consume("wrong", "-p", "1"), LINES + LINES)
        self.create("unhurt", [broker for broker in self.cluster.servers if broker != old])
        self.produce("unhurt", LINES)
        self.assertEqual(self.consume("unhurt"), LINES)
        self.assertEqual(self.cluster.znode(path), wrong)
        self.assertNotEqual(protocol.alter(new.address, {"wrong": {0: [3, 2]}})[1][("wrong", 0)], 0)
        isr = [broker for broker in node["isr"] if broker != old]
        self.edit("set", path, json.dumps(dict(node, leader=isr[0], isr=isr), separators=(",", ":")), -1)
        new.wait_log("wrong-0: its state is back")
        self.cluster.servers[old].start()
        self.wait_isr("wrong", [1, 2, 3], [1, 2, 3])
        self.assertEqual(self.consume("wrong", "-p", "0"), LINES)
        self.assertEqual(self.files("wrong"), before)

    def test_a_topic_deleted_by_hand_and_put_back_goes_on_with_its_move(self):
        self.create("back", [1, 2, 3])
        self.produce("back", LINES)
        self.hold(4)
        self.execute("back", [4, 2, 3])
        path = "/brokers/topics/back"
        node = self.cluster.ask("get", path).split(" ", 2)[2]
        self.assertIn('"adding_replicas":{"0":[4]}', node)
        for below in ("/partitions/0/state", "/partitions/0", "/partitions", ""):
            self.edit("delete", path + below, -1)
        self.edit("create", path, node)
        self.cluster.servers[4].resume()
        self.wait_idle("back")
        self.wait_isr("back", [4, 2, 3])
        self.assertEqual(self.consume("back"), LINES)
        self.produce("back", LINES)
        self.assertEqual(self.consume("back"), LINES + LINES)


if __name__ == "__main__":
    unittest.main()
