"""Brokers and controllers that die in moves, with real processes and a real ZooKeeper: rows 41 to 56 of section 15 of
the reassignment specification, as far as their moments can be held from outside. The simulator has the others."""

import json
import unittest

from servers import ServerTest
from support import wait_until

LINES = ["line %05d %s" % (i, "payload " * 10) for i in range(2000)]


class Failover(ServerTest):
    brokers = 5

    def listed(self, topic):
        """The running moves of a topic, as the brokers tell them."""
        moves = json.loads(self.cluster.admin("reassign", "--list", "--json").stdout)
        return [move for move in moves["reassignments"] if move["topic"] == topic]

    def test_row_41_target_dies_and_returns(self):
        self.create("row41", [1, 2, 3])
        self.produce("row41", LINES)
        self.hold(4)
        self.execute("row41", [1, 2, 4])
        epoch = self.state("row41")["leader_epoch"]
        self.cluster.servers[4].kill()
        wait_until("broker 4 gone", lambda: self.cluster.znode("/brokers/ids/4") is None)
        self.assertEqual(len(self.listed("row41")), 1)
        self.cluster.servers[4].start()
        self.wait_idle("row41")
        self.assertEqual(self.cluster.znode("/brokers/topics/row41")["partitions"], {"0": [1, 2, 4]})
        self.assertGreater(self.state("row41")["leader_epoch"], epoch)
        self.wait_isr("row41", [1, 2, 4])
        self.assertEqual(self.consume("row41"), LINES)

    def test_row_42_leader_dies_in_a_move(self):
        self.create("row42", [1, 2, 3])
        self.produce("row42", LINES)
        self.hold(4, 5)
        self.execute("row42", [4, 5, 2])
        self.cluster.servers[1].kill()
        wait_until("another leader", lambda: self.state("row42")["leader"] in (2, 3))
        self.cluster.servers[4].resume()
        self.cluster.servers[5].resume()
        self.wait_idle("row42")
        self.cluster.servers[1].start()
        self.wait_isr("row42", [4, 5, 2])
        self.assertEqual(self.consume("row42"), LINES)
        wait_until("old replicas gone", lambda: self.folders("row42") == {2, 4, 5})

    def test_row_43_origin_that_is_down_at_the_end_keeps_no_replica(self):
        self.create("row43", [1, 2, 3])
        self.produce("row43", LINES)
        self.cluster.servers[3].kill()
        wait_until("broker 3 out of sync", lambda: self.isr("row43") == [[1, 2]])
        self.execute("row43", [1, 2, 4])
        self.wait_idle("row43")
        self.assertEqual(self.cluster.znode("/brokers/topics/row43")["partitions"], {"0": [1, 2, 4]})
        self.assertEqual(self.folders("row43"), {1, 2, 3, 4})
        self.cluster.servers[3].start()
        wait_until("the stray set aside", lambda: self.folders("row43") == {1, 2, 4})
        self.wait_isr("row43", [1, 2, 4])
        self.assertEqual(self.consume("row43"), LINES)

    def test_row_44_controller_dies_right_after_the_start_of_a_move(self):
        active = self.active()
        first, second, third, target = [broker for broker in self.cluster.servers if broker != active]
        self.create("row44", [first, second, third])
        self.produce("row44", LINES)
        self.hold(target)
        self.execute("row44", [target, second, third])
        before = self.cluster.znode("/brokers/topics/row44")
        self.kill_active()
        wait_until("the list", lambda: len(self.listed("row44")) == 1)
        self.assertEqual(self.cluster.znode("/brokers/topics/row44"), before)
        self.cluster.servers[target].resume()
        self.wait_idle("row44")
        self.wait_isr("row44", [target, second, third])
        wait_until("the old replica gone", lambda: self.folders("row44") == {target, second, third})
        self.assertEqual(self.consume("row44"), LINES)

    def test_row_45_controllers_die_again_and_again_while_moves_end(self):
        rows = [[1 + i % 5, 1 + (i + 1) % 5, 1 + (i + 2) % 5] for i in range(20)]
        targets = [[1 + (i + 3) % 5, 1 + (i + 4) % 5, 1 + i % 5] for i in range(20)]
        self.create("row45", *rows)
        self.produce("row45", LINES)
        self.execute("row45", *targets)
        for _ in range(3):
            self.cluster.servers[self.kill_active()].start()
        self.cluster.wait_all_ready()
        self.wait_idle("row45")
        self.assertEqual(self.replicas("row45"), targets)
        self.wait_isr("row45", *targets)
        self.assertEqual(sorted(self.consume("row45")), LINES)
        self.assertNotIn("original_replicas", self.cluster.znode("/brokers/topics/row45"))

    def test_row_47_controller_that_hung_resigns(self):
        old = self.active()
        epoch = int(self.cluster.ask("get", "/controller_epoch").split()[2])
        self.cluster.servers[old].pause()
        wait_until("another controller", lambda: self.cluster.controller() not in (None, old))
        others = [broker for broker in self.cluster.servers if broker != old]
        self.create("row47", others[:3])
        self.cluster.servers[old].resume()
        wait_until("broker %d registered again" % old, lambda: self.cluster.znode("/brokers/ids/%d" % old))
        self.execute("row47", [old, others[0], others[1]])
        self.wait_idle("row47")
        self.wait_isr("row47", [old, others[0], others[1]])
        self.assertNotEqual(self.cluster.controller(), old)
        self.assertEqual(int(self.cluster.ask("get", "/controller_epoch").split()[2]), epoch + 1)

    def test_row_52_deleting_a_topic_that_moves(self):
        self.create("row52", [1, 2, 3])
        self.produce("row52", LINES)
        self.hold(4)
        self.execute("row52", [4, 2, 3])
        self.cluster.admin("topics", "delete", "row52")
        self.cluster.servers[4].resume()
        wait_until("the znode gone", lambda: self.cluster.znode("/brokers/topics/row52") is None)
        wait_until("the files gone", lambda: self.folders("row52") == set())
        self.assertEqual(self.listed("row52"), [])

    def test_row_54_preferred_leader_that_is_not_in_sync_is_refused(self):
        self.create("row54", [1, 2])
        self.produce("row54", LINES)
        self.hold(4)
        self.execute("row54", [4, 1])
        election = ("leader-election", "--topic", "row54", "--partition", "0")
        result = self.cluster.admin(*election, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.state("row54")["leader"], 1)
        self.cluster.servers[4].resume()
        self.wait_idle("row54")
        self.cluster.admin(*election)
        wait_until("leader 4", lambda: self.state("row54")["leader"] == 4)
        self.assertEqual(self.consume("row54"), LINES)

    def test_row_56_broker_in_controlled_shutdown_leaves_every_isr(self):
        self.create("row56", [2, 1, 3], [3, 2, 1])
        self.produce("row56", LINES)
        self.assertEqual(self.cluster.servers[2].stop(), 0)
        self.assertEqual([sorted(self.state("row56", p)["isr"]) for p in (0, 1)], [[1, 3], [1, 3]])
        self.cluster.servers[2].start()
        self.wait_isr("row56", [1, 2, 3], [1, 2, 3])
        self.assertEqual(sorted(self.consume("row56")), LINES)

    def test_cancel_after_a_failover_restores_the_list(self):
        active = self.active()
        a, b, c, target = [broker for broker in self.cluster.servers if broker != active]
        self.create("undone", [c, a, b])
        self.produce("undone", LINES)
        self.hold(target)
        plan = self.plan("undone", [target, b, a])
        self.reassign("--execute", plan)
        self.kill_active()
        wait_until("the list", lambda: len(self.listed("undone")) == 1)
        self.reassign("--cancel", plan)
        self.wait_idle("undone")
        self.cluster.servers[target].resume()
        self.assertEqual(self.cluster.znode("/brokers/topics/undone")["partitions"], {"0": [c, a, b]})
        self.wait_isr("undone", [a, b, c])
        self.assertEqual(self.consume("undone"), LINES)


if __name__ == "__main__":
    unittest.main()
