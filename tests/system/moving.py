"""What the tests of running moves share: data to move, a way to slow it down, and waiting for what the report tells."""

import time

import configs
from moves_report import TEXTS, Report
from support import ClusterTest, wait_until

MB = 1000000
LINE = "payload " * 125  # with its number about 1 KB
LINES = ["%07d %s" % (i, LINE) for i in range(100000)]  # 100 MB
SOME = LINES[:4000]  # 4 MB
SMALL = ("-X", "batch.size=16384", "-X", "compression.codec=none")
SLOW = ("--additional", "--throttle", "1000")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


class MovingTest(ClusterTest):
    def start_moves(self, entries, *options):
        self.cluster.admin("reassign", "--execute", "--reassignment-json-file", self.plan(entries), *options)

    def cancel(self, *partitions):
        self.cluster.admin("reassign", "--cancel", "--reassignment-json-file", self.plan({tp: [1] for tp in partitions}))

    def let_go(self, topic, broker):
        self.assertEqual(configs.replace(self.address(broker), configs.TOPIC, topic, {}), 0)

    def report(self):
        def look():
            found = Report(self.address(self.controller()))
            return found if found.code == 0 else None
        return wait_until("a report of the controller", look)

    def move(self, topic, partition=0):
        """What is told of the move; None when there is none."""
        found = self.report().moves.get((topic, partition))
        if found is not None:
            self.assertNotIn(True, [arrival["ignores_limits"] for arrival in found["adding"].values()])
        return found

    def wait_move(self, topic, what, condition):
        """The move, once condition(move) holds."""
        seen = []

        def look():
            seen[:] = [self.move(topic)]
            return seen[0] if seen[0] is not None and condition(seen[0]) else None
        try:
            return wait_until(what, look)
        except AssertionError as error:
            raise AssertionError("%s; last seen: %s" % (error, seen)) from None

    def wait_reason(self, topic, reason):
        """The move, once it waits for that; and who looks is told so, with the since-when and with what helps."""
        began = time.time() * 1000
        move = self.wait_move(topic, "reason %d of %s" % (reason, topic), lambda m: m["reason"] == reason)
        self.assertGreater(move["since_ms"], began - 60000)
        self.assertLessEqual(move["since_ms"], time.time() * 1000)
        if reason in TEXTS:
            self.wait_shown(topic, reason)
        return move

    def wait_shown(self, topic, reason):
        """`klamm moves status` names the reason with its since-when, and a command that helps."""
        text, command = TEXTS[reason]

        def is_shown():
            lines = self.cluster.admin("moves", "status", "--partition", topic + "-0").stdout.splitlines()
            rows = [line for line in lines if line.startswith(topic + "-0 ")]
            return any(text in row and " since 2" in row for row in rows) and any(command in line for line in lines)
        wait_until("'%s' to be shown of %s" % (text, topic), is_shown)

    def wait_end(self, topic):
        wait_until("the move of %s to end" % topic, lambda: self.move(topic) is None)
