"""What others made below the cluster's znodes, and access lists that keep the brokers out: one topic or entry is left
alone until it can be written, the rest is served by the same controller."""

import json
import os
import re
import subprocess
import unittest

import metrics
import zookeeper
from servers import CHROOT, ServerTest
from support import wait_until

LINES = ["line %05d" % i for i in range(500)]
USER = "klamm:secret"


class Acl(ServerTest):
    brokers = 3
    settings = {"klamm.http.port": 0}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.sessions.open("owner", cls.cluster.connect, USER, "acl")
        cls.digest = os.path.join(cls.cluster.root, "digest")
        with open(cls.digest, "w", encoding="utf-8") as file:
            file.write(USER + "\n")

    def ask(self, *words, session="reader"):
        self.cluster.asked += 1
        return self.cluster.sessions.ask(words[0], session, self.cluster.asked, *words[1:])

    def open_to_all(self, *paths):
        """As an administrator does it, with ZooKeeper's own command line."""
        commands = ["addauth digest " + USER] + ["setAcl %s%s world:anyone:cdrwa" % (CHROOT, path) for path in paths]
        command = ["java", *zookeeper.QUICK_JAVA, "-cp", "%s:%s" % (zookeeper.JAR, zookeeper.LOG_JAR),
                   "org.apache.zookeeper.ZooKeeperMain", "-server", self.cluster.zookeeper.address]
        subprocess.run(command, input="\n".join(commands + ["quit", ""]), capture_output=True, text=True, check=True,
                       timeout=60)

    def controller(self):
        """The process of the active one."""
        return self.cluster.servers[self.active()]

    def left_alone(self):
        """What the active controller tells of it over HTTP: rows of `/status`."""
        log = self.controller().log()
        port = int(re.search(r"answers HTTP on \S+ port (\d+)", log)[1])
        told = json.loads(metrics.get(port, "/status")[2])["left_alone"]
        self.assertEqual(told["count"], len(told["listed"]))
        return told["listed"]

    def assert_nobody_gave_up(self):
        for server in self.cluster.servers.values():
            self.assertNotIn("gives up", server.log())

    def alone(self, what):
        return "WARN  controller: %s is left alone for now: " % what

    def test_nodes_that_others_made_below_a_topic_go_with_it(self):
        self.create("extra", [1, 2, 3])
        for path in ("/brokers/topics/extra/note", "/brokers/topics/extra/note/deeper",
                     "/brokers/topics/extra/partitions/0/state/below", "/config/topics/extra/note"):
            self.assertEqual(self.ask("create", path, "x"), "ok 0")
        self.cluster.admin("topics", "delete", "extra")
        wait_until("its nodes gone", lambda: "extra" not in self.cluster.children("/brokers/topics"))
        self.assertNotIn("extra", self.cluster.children("/config/topics"))
        self.assertEqual(self.cluster.children("/admin/delete_topics"), [])
        self.assert_nobody_gave_up()

    def test_a_topic_of_somebody_else_is_left_alone_until_it_can_be_written(self):
        self.create("beside", [1, 2])
        controller = self.controller()
        epoch = self.cluster.ask("get", "/controller_epoch")
        self.assertEqual(self.ask("create", "/brokers/topics/alien", '{"version":1,"partitions":{"0":[1,2]}}',
                                  session="owner"), "ok 0")
        controller.wait_log(self.alone("topic alien") + "/brokers/topics/alien/partitions: refused")
        row, = self.left_alone()
        self.assertEqual((row["topic"], row["partition"], row["path"], row["reason"]),
                         ("alien", None, "/brokers/topics/alien/partitions", "refused"))
        self.execute("beside", [2, 3])
        self.wait_idle("beside")
        self.produce("beside", LINES)
        self.assertEqual(self.consume("beside"), LINES)
        self.assertEqual(self.cluster.ask("get", "/controller_epoch"), epoch)
        self.open_to_all("/brokers/topics/alien")
        controller.wait_log("INFO  controller: topic alien is no longer left alone")
        wait_until("nothing left alone", lambda: self.left_alone() == [])
        self.produce("alien", LINES)
        self.assertEqual(self.consume("alien"), LINES)
        self.cluster.admin("topics", "delete", "alien")
        wait_until("it gone", lambda: "alien" not in self.cluster.children("/brokers/topics"))
        self.assert_nobody_gave_up()

    def test_a_topic_that_cannot_be_removed_waits(self):
        """Its nodes belong to another identity, below it as well."""
        for path, value in (("", '{"version":1,"partitions":{"0":[1,2]}}'), ("/partitions", ""), ("/partitions/0", "")):
            self.assertEqual(self.ask("create", "/brokers/topics/closed" + path, value, session="owner"), "ok 0")
        controller = self.controller()
        # The controller may come between these: then it is the topic that waits, for its second node.
        controller.wait_log(self.alone("(closed-0|topic closed)") + "/brokers/topics/closed/partitions(/0)?: refused")
        refused = self.cluster.admin("topics", "delete", "closed", check=False)
        self.assertEqual((refused.returncode, refused.stderr.strip()),
                         (1, "klamm: topic closed: the nodes of a topic cannot be removed: "
                             "/brokers/topics/closed/partitions/0: refused"))
        controller.wait_log(self.alone("topic closed") + "the nodes of a topic cannot be removed: /brokers/topics/closed")
        self.create("open", [1, 2])
        self.open_to_all("/brokers/topics/closed", "/brokers/topics/closed/partitions")
        wait_until("it gone", lambda: "closed" not in self.cluster.children("/brokers/topics"))
        self.assert_nobody_gave_up()

    def test_a_plan_of_moves_of_somebody_else_is_carried_out(self):
        """One entry leaves it, for which it cannot be written; when the other one is done it can be deleted."""
        self.create("planned", [1, 2])
        controller = self.controller()
        plan = {"version": 1, "partitions": [{"topic": "planned", "partition": 0, "replicas": [1, 3]},
                                             {"topic": "nope", "partition": 0, "replicas": [1]}]}
        self.assertEqual(self.ask("create", "/admin/reassign_partitions", json.dumps(plan, separators=(",", ":")),
                                  session="owner"), "ok 0")
        controller.wait_log("/admin/reassign_partitions: nope-0 is removed: there is no such partition")
        controller.wait_log("/admin/reassign_partitions is done, and deleted")
        self.wait_replicas("planned", [1, 3])
        self.assertIn(self.alone("the plan of moves") + "/admin/reassign_partitions: refused", controller.log())
        self.assert_nobody_gave_up()

    def test_a_wrong_password_is_told(self):
        """By a broker with an id, by one that wants one, and where the path of zookeeper.connect cannot be made."""
        guarded = self.cluster.zookeeper.address + "/guarded"
        wrong = os.path.join(self.cluster.root, "wrong")
        with open(wrong, "w", encoding="utf-8") as file:
            file.write("klamm:wrong\n")

        def server(name, digest, **settings):
            made = self.cluster.new_server(name, **{"zookeeper.connect": guarded, "zookeeper.set.acl": "true",
                                                    "klamm.zookeeper.digest.file": digest, **settings})
            self.addCleanup(made.close)
            made.start()
            return made

        first = server("right", self.digest, **{"broker.id": 1})
        first.wait_ready()
        second = server("wrong-id", wrong, **{"broker.id": 2})
        second.wait_log("WARN  /brokers/ids/2 cannot be created: refused by its access list; tried again. Is "
                        "klamm.zookeeper.digest.file right")
        third = server("wrong-any", wrong)
        self.assertEqual(third.wait_end(), 1)
        self.assertRegex(third.log(), "ERROR no broker id could be generated: /brokers/seqid cannot be written: refused")
        deeper = server("wrong-path", wrong, **{"broker.id": 2, "zookeeper.connect": guarded + "/deeper/still",
                                                "zookeeper.connection.timeout.ms": 2000})
        self.assertEqual(deeper.wait_end(), 1)
        self.assertRegex(deeper.log(), "WARN  ZooKeeper .*/guarded/deeper/still: cannot make the chroot: not authenticated")
        self.assertRegex(deeper.log(), "ERROR ZooKeeper at .* could not be reached, or not be used, within ")
        self.assertEqual(second.stop(), 0)
        second.configure(**{"klamm.zookeeper.digest.file": self.digest})
        second.start()
        second.wait_ready()

    def test_access_lists_switched_on_too_early_cost_only_what_was_made_under_them(self):
        """One broker sets access lists before the others know the user: its topics wait for it while others control."""
        self.create("old", [1, 2, 3])
        first = self.cluster.servers[1]
        first.stop()
        first.configure(**{"zookeeper.set.acl": "true", "klamm.zookeeper.digest.file": self.digest})
        first.start()
        first.wait_ready()
        while self.active() != 1:
            killed = self.kill_active()
            self.cluster.servers[killed].start()
            self.cluster.servers[killed].wait_ready()
        self.cluster.wait_acquainted()
        self.create("guarded", [2, 3])
        self.assertEqual(self.kill_active(), 1)
        controller = self.controller()
        self.execute("old", [3, 2])
        self.wait_idle("old")
        self.cluster.kill(5 - self.active())  # of 2 and 3 the one that is not the controller
        controller.wait_log(self.alone("guarded-0") + "/brokers/topics/guarded/partitions/0/state: refused")
        wait_until("a leader of the other topic", lambda: self.state("old")["leader"] == self.active())
        # The order of docs/operations.md: everybody authenticates, and nobody is kept out any more.
        for server in self.cluster.servers.values():
            if server.process is not None:
                server.stop()
            server.configure(**{"zookeeper.set.acl": "false", "klamm.zookeeper.digest.file": self.digest})
        self.cluster.wait_all_ready()
        self.wait_isr("guarded", [2, 3])
        for server in self.cluster.servers.values():
            server.stop()
            server.configure(**{"zookeeper.set.acl": "true"})
            server.start()
            server.wait_ready()
        self.wait_isr("guarded", [2, 3])
        self.create("later", [1, 2, 3])
        for server in self.cluster.servers.values():
            self.assertNotRegex(server.log(), "left alone|gives up")
            server.stop()
            server.configure(**{"zookeeper.set.acl": "false"})


if __name__ == "__main__":
    unittest.main()
