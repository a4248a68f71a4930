"""Brokers and controllers that die in moves, with real processes and a real ZooKeeper: rows 41 to 56 of section 15 of
the reassignment specification, as far as their moments can be held from outside. The simulator has the others."""

import json
import os
import re
import unittest

import protocol
from servers import ServerTest
from support import wait_until

STRAY_SECONDS = 120  # a broker looks twice, 30 s apart
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
        self.cluster.kill(4)
        wait_until("broker 4 gone", lambda: self.cluster.znode("/brokers/ids/4") is None)
        self.assertEqual(len(self.listed("row41")), 1)
        self.assertEqual(self.state("row41")["leader_epoch"], epoch)
        self.cluster.servers[4].start()
        self.wait_idle("row41")
        self.assertEqual(self.cluster.znode("/brokers/topics/row41")["partitions"], {"0": [1, 2, 4]})
        self.assertEqual(self.state("row41")["leader_epoch"], epoch + 3)  # A1 again, B3, B4
        self.wait_isr("row41", [1, 2, 4])
        self.assertEqual(self.consume("row41"), LINES)

    def test_s23_a_move_is_as_old_after_a_failover(self):
        self.create("old", [1, 2])
        self.produce("old", LINES)
        controller = self.active()
        target = 4 if controller != 4 else 5
        self.hold(target)
        self.execute("old", [1, 2, target])
        started = self.report().moves["old", 0]["started_ms"]
        wait_until("the start to be kept", lambda: self.cluster.znode("/klamm/moves/old:0"))
        kept = self.cluster.znode("/klamm/moves/old:0")["config"]["0"]
        self.assertEqual(kept.split()[0], str(started))
        self.assertIn(" by User:ANONYMOUS\n", kept)
        self.cluster.kill(controller)
        wait_until("another controller", lambda: self.cluster.controller() not in (None, controller))
        move = self.report().moves["old", 0]
        self.assertEqual((move["started_ms"], move["submitted_by"]), (started, "User:ANONYMOUS"))
        self.cluster.servers[controller].start()
        self.cluster.servers[target].resume()
        self.wait_idle("old")
        wait_until("the start to be forgotten", lambda: self.cluster.znode("/klamm/moves/old:0") is None)
        self.assertEqual(self.consume("old"), LINES)

    def test_row_42_leader_dies_in_a_move(self):
        self.create("row42", [1, 2, 3])
        self.produce("row42", LINES)
        self.hold(4, 5)
        self.execute("row42", [4, 5, 2])
        self.cluster.kill(1)
        wait_until("another leader", lambda: self.state("row42")["leader"] in (2, 3))
        self.cluster.servers[4].resume()
        self.cluster.servers[5].resume()
        self.wait_idle("row42")
        self.cluster.servers[1].start()
        self.wait_isr("row42", [4, 5, 2])
        self.assertEqual(self.consume("row42"), LINES)
        wait_until("old replicas gone", lambda: self.folders("row42") == {2, 4, 5}, STRAY_SECONDS)

    def test_row_43_origin_that_is_down_at_the_end_keeps_no_replica(self):
        self.create("row43", [1, 2, 3])
        self.produce("row43", LINES)
        self.cluster.kill(3)
        wait_until("broker 3 out of sync", lambda: self.isr("row43") == [[1, 2]])
        self.execute("row43", [1, 2, 4])
        self.wait_idle("row43")
        self.assertEqual(self.cluster.znode("/brokers/topics/row43")["partitions"], {"0": [1, 2, 4]})
        self.assertEqual(self.folders("row43"), {1, 2, 3, 4})
        self.cluster.servers[3].start()
        wait_until("the stray set aside", lambda: self.folders("row43") == {1, 2, 4}, STRAY_SECONDS)
        self.wait_isr("row43", [1, 2, 4])
        self.assertEqual(self.consume("row43"), LINES)

    def test_s21_what_a_broker_comes_back_with_is_set_aside(self):
        """While broker 3 is down a cancel takes one replica from it, and another is of a topic that is made anew."""
        self.create("left-by-cancel", [1, 2])
        self.create("recreated", [3, 1])
        for topic in ("left-by-cancel", "recreated"):
            self.produce(topic, LINES)
        self.hold(4)
        plan = self.plan("left-by-cancel", [3, 4])
        self.reassign("--execute", plan)
        self.wait_isr("left-by-cancel", [1, 2, 3])
        self.cluster.kill(3)
        wait_until("broker 3 gone", lambda: self.cluster.znode("/brokers/ids/3") is None)
        self.reassign("--cancel", plan)
        self.cluster.servers[4].resume()
        self.execute("recreated", [1, 2])
        self.wait_idle("recreated")
        self.cluster.admin("topics", "delete", "recreated")
        wait_until("the topic gone", lambda: self.cluster.znode("/brokers/topics/recreated") is None)
        self.assertEqual(self.folders("recreated"), {3})
        self.create("recreated", [1])
        self.produce("recreated", LINES[:10])
        self.cluster.wait_all_ready()
        self.execute("recreated", [3])  # it has an old log of that name, which is not taken for this one
        wait_until("the stray set aside", lambda: self.folders("left-by-cancel") == {1, 2}, STRAY_SECONDS)
        self.wait_idle("recreated")
        self.assertEqual(self.consume("recreated"), LINES[:10])
        wait_until("the old replica gone", lambda: self.folders("recreated") == {3})
        self.assertEqual(self.consume("left-by-cancel"), LINES)

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
        self.wait_replicas("row45", *targets)
        self.wait_isr("row45", *targets)
        self.assertEqual(sorted(self.consume("row45")), LINES)
        self.assertNotIn("original_replicas", self.cluster.znode("/brokers/topics/row45"))

    def test_row_47_controller_that_hung_resigns(self):
        old = self.active()
        epoch = int(self.cluster.ask("get", "/controller_epoch").split()[2])
        self.cluster.servers[old].pause()
        self.cluster.end_sessions(old)
        wait_until("another controller", lambda: self.cluster.controller() not in (None, old))
        others = [broker for broker in self.cluster.servers if broker != old]
        self.create("row47", others[:3])
        self.cluster.servers[old].resume()
        self.cluster.wait_all_ready()
        self.execute("row47", [old, others[0], others[1]])
        self.wait_idle("row47")
        self.wait_isr("row47", [old, others[0], others[1]])
        self.assertNotEqual(self.cluster.controller(), old)
        self.assertEqual(int(self.cluster.ask("get", "/controller_epoch").split()[2]), epoch + 1)

    def test_row_47_controller_that_was_overtaken_stores_nothing(self):
        """Its session lives, but the epoch is another one's: the guard of its write is all that tells it so."""
        active = self.active()
        others = [broker for broker in self.cluster.servers if broker != active]
        self.create("row47-guarded", others[:3])
        self.produce("row47-guarded", LINES)
        before = self.cluster.ask("get", "/brokers/topics/row47-guarded")
        epoch = int(self.cluster.ask("get", "/controller_epoch").split()[2])
        answer = self.cluster.sessions.ask("set", "reader", "row47", "/controller_epoch", str(epoch + 5), -1)
        self.assertRegex(answer, "^ok ")
        asked = {"row47-guarded": {0: [active, others[1], others[2]]}}
        self.assertEqual(protocol.alter(self.cluster.servers[active].address, asked), (41, {}))
        self.assertEqual(self.cluster.ask("get", "/brokers/topics/row47-guarded"), before)
        self.cluster.servers[active].wait_log("WARN  controller: gives up the controller role: ")
        wait_until("a controller of a later epoch", lambda: any(
            int(later) >= epoch + 5 for server in self.cluster.servers.values()
            for later in re.findall(r"controller with epoch (\d+)", server.log())))
        self.execute("row47-guarded", asked["row47-guarded"][0])
        self.wait_idle("row47-guarded")
        self.wait_isr("row47-guarded", asked["row47-guarded"][0])
        self.assertEqual(self.consume("row47-guarded"), LINES)

    def test_row_48_a_change_of_the_isr_by_somebody_else_is_not_lost(self):
        active = self.active()
        first, second, third, target = [broker for broker in self.cluster.servers if broker != active]
        self.create("row48", [first, second, third])
        self.produce("row48", LINES)
        self.hold(third, target)  # the third cannot come back into the set by itself
        before = self.state("row48")
        self.assertEqual(before["isr"], [first, second, third])
        changed = json.dumps({**before, "isr": [first, second]}, separators=(",", ":"))
        path = "/brokers/topics/row48/partitions/0/state"
        self.assertRegex(self.cluster.sessions.ask("set", "reader", "row48", path, changed, -1), "^ok ")
        self.execute("row48", [first, second, target])
        self.assertEqual(self.state("row48")["isr"], [first, second])
        self.assertGreater(self.state("row48")["leader_epoch"], before["leader_epoch"])
        self.cluster.servers[third].resume()
        self.cluster.servers[target].resume()
        self.wait_idle("row48")
        self.wait_isr("row48", [first, second, target])
        self.assertEqual(self.consume("row48"), LINES)

    def break_directory(self, broker, topic):
        """A log directory of the broker that holds something of the topic fails; those partitions."""
        server = self.cluster.servers[broker]
        path = next(path for path in server.log_dirs if any(name.startswith(topic + "-") for name in os.listdir(path)))
        broken = [int(name.rsplit("-", 1)[1]) for name in os.listdir(path) if name.startswith(topic + "-")]
        os.rename(path, path + "-away")
        with open(path, "w", encoding="utf-8"):
            pass
        self.addCleanup(self.mend_directory, broker, path)
        for partition in broken:
            self.produce(topic, LINES, "-p", str(partition))
        server.wait_log("WARN  log directory %s is offline" % path)
        return broken

    def mend_directory(self, broker, path):
        self.cluster.kill(broker)
        os.unlink(path)
        os.rename(path + "-away", path)

    def spread(self, topic, *replicas):
        """A topic of four partitions with records in each; their first replica has two directories."""
        self.create(topic, *[list(replicas)] * 4)
        for partition in range(4):
            self.produce(topic, LINES, "-p", str(partition))

    def test_row_49_target_with_a_failed_directory_takes_the_replica_into_the_good_one(self):
        self.spread("row49-there", 4, 1)
        self.create("row49", [1, 2])
        self.produce("row49", LINES)
        self.break_directory(4, "row49-there")
        self.execute("row49", [1, 4])
        self.wait_idle("row49")
        self.wait_isr("row49", [1, 4])
        good = [path for path in self.cluster.servers[4].log_dirs if os.path.isdir(path)]
        self.assertEqual(len(good), 1)
        self.assertIn("row49-0", os.listdir(good[0]))
        self.assertEqual(self.consume("row49"), LINES)

    def test_row_50_replica_in_a_failed_directory_is_moved_away(self):
        self.spread("row50", 4, 1, 2)
        broken = self.break_directory(4, "row50")
        rows = [[3, 1, 2] if partition in broken else None for partition in range(4)]
        self.execute("row50", *rows)
        self.wait_idle("row50")
        for partition in broken:
            wait_until("the new in-sync set", lambda p=partition: sorted(self.isr("row50")[p]) == [1, 2, 3])
            self.assertEqual(self.consume("row50", "-p", str(partition)), LINES + LINES)
        wait_until("an empty list", lambda: self.listed("row50") == [])

    def test_row_53_a_topic_that_moves_cannot_grow(self):
        self.create("row53-moving", [1, 2, 3])
        self.create("row53-idle", [1, 2, 3])
        self.produce("row53-moving", LINES)
        self.hold(4)
        self.execute("row53-moving", [1, 2, 4])
        address = self.cluster.servers[self.active()].address
        self.assertEqual(protocol.create_partitions(address, {"row53-moving": 2, "row53-idle": 2}),
                         {"row53-moving": 60, "row53-idle": 0})
        self.cluster.servers[4].resume()
        self.wait_idle("row53-moving")
        self.assertEqual(protocol.create_partitions(address, {"row53-moving": 2}), {"row53-moving": 0})
        self.wait_known("row53-moving", 2)
        self.assertEqual(self.partitions("row53-moving")[0]["replicas"], [1, 2, 4])

    def test_row_56_broker_in_controlled_shutdown_is_no_member(self):
        for broker in (1, 2, 3):  # anew, so that the log tells the epoch of the present registration
            self.cluster.servers[broker].stop()
            self.cluster.servers[broker].start()
            self.cluster.servers[broker].wait_ready()
        self.cluster.wait_acquainted()
        self.create("row56-asked", [1, 2, 3])
        self.produce("row56-asked", LINES)
        self.wait_isr("row56-asked", [1, 2, 3])
        leaving = next(broker for broker in (2, 3) if broker != self.active())
        controller = self.cluster.servers[self.active()].address
        self.assertEqual(protocol.controlled_shutdown(controller, leaving, self.epoch(leaving)), 0)
        staying = sorted({1, 2, 3} - {leaving})
        self.assertEqual(sorted(self.state("row56-asked")["isr"]), staying)
        topic_id = self.cluster.znode("/brokers/topics/row56-asked")["topic_id"]
        state = self.state("row56-asked")
        version = int(self.cluster.ask("get", "/brokers/topics/row56-asked/partitions/0/state").split()[1])
        proposal = protocol.Proposal(1, self.epoch(1), topic_id, 0, state["leader_epoch"], version, [1, 2, 3])
        self.assertEqual(protocol.alter_partition(controller, 2, proposal), 107)
        self.assertEqual(protocol.alter_partition(controller, 1, proposal._replace(topic="row56-asked")), 55)
        self.assertEqual(sorted(self.state("row56-asked")["isr"]), staying)
        self.cluster.kill(leaving)
        self.cluster.servers[leaving].start()
        self.wait_isr("row56-asked", [1, 2, 3])
        self.assertEqual(self.consume("row56-asked"), LINES)

    def epoch(self, broker):
        """Of its registration."""
        return int(re.findall(r"is ready, epoch (\d+)", self.cluster.servers[broker].log())[-1])

    def test_row_52_deleting_a_topic_that_moves(self):
        self.create("row52", [1, 2, 3])
        self.produce("row52", LINES)
        self.hold(4)
        self.execute("row52", [4, 2, 3])
        self.cluster.admin("topics", "delete", "row52")
        self.cluster.servers[4].resume()
        wait_until("the znode gone", lambda: self.cluster.znode("/brokers/topics/row52") is None)
        wait_until("the files gone", lambda: self.folders("row52") == set())
        wait_until("an empty list", lambda: self.listed("row52") == [])

    def test_row_54_preferred_leader_that_is_not_in_sync_is_refused(self):
        self.create("row54", [1, 2])
        self.produce("row54", LINES)
        self.hold(4)
        self.execute("row54", [4, 1])
        election = ("leader-election", "--topic", "row54", "--partition", "0")
        result = self.cluster.admin(*election, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("row54-0: the preferred leader is not alive or not in sync", result.stderr)  # 80
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


class Rebalance(ServerTest):
    brokers = 4
    settings = {"auto.leader.rebalance.enable": "true", "leader.imbalance.check.interval.seconds": 1,
                "leader.imbalance.per.broker.percentage": 0}

    def test_row_55_leaders_are_balanced_while_something_moves(self):
        self.create("row55", [2, 3])
        self.create("row55-idle", [1, 2], [1, 3])
        self.produce("row55", LINES)
        self.hold(4)
        self.execute("row55", [4, 3])
        moving = self.cluster.znode("/brokers/topics/row55")
        self.cluster.kill(1)
        wait_until("other leaders", lambda: all(self.state("row55-idle", p)["leader"] in (2, 3) for p in (0, 1)))
        self.cluster.servers[1].start()
        wait_until("the preferred leaders", lambda: all(self.state("row55-idle", p)["leader"] == 1 for p in (0, 1)))
        self.assertEqual(self.cluster.znode("/brokers/topics/row55"), moving)
        self.assertEqual(self.state("row55")["leader"], 2)
        self.cluster.servers[4].resume()
        self.wait_idle("row55")
        wait_until("the preferred leader of the target", lambda: self.state("row55")["leader"] == 4)
        self.assertEqual(self.consume("row55"), LINES)


if __name__ == "__main__":
    unittest.main()
