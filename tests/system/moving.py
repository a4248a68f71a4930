"""What the tests of running moves share: data to move, a way to slow it down, and waiting for what the report tells."""

import configs
from moves_report import Report
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
        return self.report().moves.get((topic, partition))

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
        return self.wait_move(topic, "reason %d of %s" % (reason, topic), lambda move: move["reason"] == reason)

    def wait_end(self, topic):
        wait_until("the move of %s to end" % topic, lambda: self.move(topic) is None)
