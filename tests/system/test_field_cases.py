"""Cases that operators report, with real brokers and clients: S03 to S05, S17 to S23 and S34 of the field scenarios, and rows
25, 26, 29, 32, 34, 35 and 53 of the reassignment specification's section 15.

Slow moves are throttled to 1000 B/s: what a test leaves of them would need hours. They are let go by taking the lists of
throttled replicas away.
"""

import os
import subprocess
import threading
import time
import unittest

import configs
import protocol
from moves_report import Report
from support import DEADLINE_SECONDS, ClusterTest, Writer, wait_until

LINES = ["line %06d %s" % (i, "payload " * 25) for i in range(20000)]  # 4 MB
SMALL = ("-X", "batch.size=16384", "-X", "compression.codec=none")
SLOW = ("--additional", "--throttle", "1000")
PARKED_SECONDS = 300  # how long a request waits that nobody answers


def entries(*rows):
    """A plan file of entries that are already JSON."""
    return b'{"version":1,"partitions":[' + b",".join(rows) + b"]}"


def entry(topic=b'"foo"', partition=b"0", replicas=b"[1,2,4]", more=b""):
    return b'{"topic":' + topic + b',"partition":' + partition + b',"replicas":' + replicas + more + b"}"


# The files of S05 that klamm reassign refuses as klamm moves does: by number.
BAD_PLANS = {
    "B01": b"",
    "B02": entries(),
    "B03 no list": b'{"version":1}',
    "B03 misspelt": entries(b'{"topic":"foo","partition:":0,"replicas":[1,2,4]}'),
    "B04": entries(entry(), entry()),
    "B05": entries(entry(), entry(replicas=b"[4,5,6]")),
    "B06": entries(entry(replicas=b"[]")),
    "B07": entries(entry(replicas=b"[1,2,2]")),
    "B08": entries(entry(replicas=b"[1,2,99]")),
    "B09": entries(entry(replicas=b"[1,2,99]"), entry(partition=b"1", replicas=b"[1,2,98]")),
    "B10": entries(entry()).replace(b'"version":1', b'"version":2'),
    "B11": entries(entry(more=b',"log_dirs":["any"]')),
    "B12": entries(entry(more=b',"log_dirs":["any","any","relative/x"]')),
    "B13": entries(entry(), b""),
    "B15": entries(entry()).decode().encode("utf-16"),
    "B17": entries(entry(more=b',"replicas":[1,2,5]')),
    "B19": entries(entry(partition=b"-1")),
    "B20 the count": entries(entry(partition=b"3")),
    "B20 the highest": entries(entry(partition=b"2147483647")),
    "B20 beyond": entries(entry(partition=b"4294967296")),
    "B23": entries(entry(replicas=b"[-1,2,3]")),
    "B24 text": entries(entry(partition=b'"0"')),
    "B24 fraction": entries(entry(partition=b"0.0")),
    "B24 exponent": entries(entry(partition=b"1e0")),
    "B24 null": entries(entry(partition=b"null")),
    "B25 number": entries(entry(topic=b"7")),
    "B25 empty": entries(entry(topic=b'""')),
    "B26": entries(entry(topic=b'"' + b"x" * 250 + b'"')),
    "B27": entries(entry(topic="\"täst-ø\"".encode())),
    "B27 nul": entries(entry(topic=b'"foo\\u0000"')),
    "B27 surrogate": entries(entry(topic=b'"foo\\ud800"')),
    "B28": entries(entry(topic=b'"a/b"')),
    "B30": b"[" * 10000,
    "B32": b"Current partition replica assignment\n" + entries(entry()),
    "B33 comment": entries(entry()) + b" // done",
    "B33 quotes": entries(entry(topic=b"'foo'")),
    "B33 NaN": entries(entry(partition=b"NaN")),
}


class Reader(threading.Thread):
    """A consumer that runs beside the test; takes so many lines and ends."""

    def __init__(self, bootstrap, topic, count):
        super().__init__(daemon=True)
        self.lines = []
        self.longest_gap = 0.0
        self.process = subprocess.Popen(["kcat", "-b", bootstrap, "-t", topic, "-C", "-u", "-q", "-o", "beginning",
                                         "-c", str(count)], stdout=subprocess.PIPE, text=True)
        self.start()

    def run(self):
        before = None
        for line in self.process.stdout:
            now = time.monotonic()
            self.longest_gap = max(self.longest_gap, 0.0 if before is None else now - before)
            before = now
            self.lines.append(line.rstrip("\n"))

    def result(self):
        self.join(DEADLINE_SECONDS)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        return self.lines


class FieldCases(ClusterTest):
    brokers = 6
    options = ("--set", "log.segment.delete.delay.ms=500")

    def tearDown(self):
        moving = list(self.moves())
        if moving:
            self.cancel(*moving)

    def start_moves(self, entries, *options):
        self.cluster.admin("reassign", "--execute", "--reassignment-json-file", self.plan(entries), *options)

    def cancel(self, *partitions):
        self.cluster.admin("reassign", "--cancel", "--reassignment-json-file", self.plan({tp: [1] for tp in partitions}))

    def let_go(self, topic):
        self.assertEqual(configs.replace(self.address(1), configs.TOPIC, topic, {}), 0)

    def moves(self):
        """What the controller lists now; it may change between two looks."""
        def look():
            code, found = protocol.list_moves(self.address(self.controller()))
            return None if code != 0 else (found,)
        return wait_until("the controller's list", look)[0]

    def report(self):
        def look():
            found = Report(self.address(self.controller()))
            return found if found.code == 0 else None
        return wait_until("a report of the controller", look)

    def wait_idle(self, topic):
        wait_until("the moves of %s to end" % topic, lambda: not any(t == topic for t, _ in self.moves()))

    def wait_partition(self, topic, **expected):
        """Until partition 0 shows these values in describe; the ISR is compared without order."""
        def shown():
            found = dict(self.partitions(topic)[0])
            found["isr"] = sorted(found["isr"])
            return all(found[key] == value for key, value in expected.items())
        wait_until("%s of %s" % (expected, topic), shown)

    def wait_code(self, what, code, ask):
        wait_until("%s to be answered with %d" % (what, code), lambda: ask() == code)

    # ---- clients ----

    def test_s18_rows_24_and_25_the_leader_leaves_under_load(self):
        topic = "leaves"
        self.create(topic, [1, 2, 3])
        old = self.address(1)
        epoch = self.partitions(topic)[0]["leader_epoch"]
        writer = Writer(self.cluster.bootstrap, topic)
        wait_until("the first records", lambda: self.log_bytes(topic, 1) > 0)
        self.start_moves({(topic, 0): [2, 3, 4]}, "--additional")
        addresses = [self.address(b) for b in (1, 2, 4)]
        newest = {a: epoch for a in addresses}
        while (topic, 0) in self.moves():
            for address in addresses:
                code, found = protocol.metadata(address, topic)
                self.assertEqual((code, list(found)), (0, [0]), "metadata lost the partition")
                self.assertGreaterEqual(found[0][1], newest[address], "metadata went back")
                newest[address] = found[0][1]
        self.wait_partition(topic, replicas=[2, 3, 4], isr=[2, 3, 4])
        self.wait_leader(topic, 2, 3, 4)
        self.assertGreater(min(told[0].epoch for told in self.told(topic)), epoch)
        time_after = len(writer.lines)
        wait_until("records after the move", lambda: len(writer.lines) > time_after + 1000)
        lines = writer.finish()
        self.assertEqual(self.consume(topic), lines)

        self.wait_code("produce to the old leader", 6, lambda: protocol.produce(old, topic, 0, b"x"))
        self.assertEqual(protocol.fetch(old, topic, 0, 0, wait_ms=PARKED_SECONDS * 1000), 6)
        self.cluster.admin("topics", "delete", topic)
        self.wait_code("produce after the deletion", 3, lambda: protocol.produce(old, topic, 0, b"x"))
        self.wait_code("fetch after the deletion", 3, lambda: protocol.fetch(old, topic, 0, 0))

    def test_s18_a_consumer_follows_the_move(self):
        self.create("followed", [1, 2, 3])
        reader = Reader(self.cluster.bootstrap, "followed", len(LINES))
        self.produce("followed", LINES[:10000])
        self.start_moves({("followed", 0): [4, 5, 6]}, "--additional")
        self.produce("followed", LINES[10000:])
        self.wait_idle("followed")
        self.assertEqual(reader.result(), LINES)
        self.assertLess(reader.longest_gap, 50)

    def test_row_26_a_parked_fetch_is_answered_when_its_replica_goes(self):
        self.create("parked", [1, 2])
        with protocol.Connection(self.address(1)) as connection:
            connection.send(1, 4, protocol.fetch_body("parked", 0, 0, wait_ms=PARKED_SECONDS * 1000))
            self.start_moves({("parked", 0): [3, 4]}, "--additional")
            connection.socket.settimeout(DEADLINE_SECONDS)
            # A new leader epoch ends a wait without an error, so that the client looks: it fetches again.
            while protocol.fetch_error(connection.receive()) == 0:
                connection.send(1, 4, protocol.fetch_body("parked", 0, 0, wait_ms=PARKED_SECONDS * 1000))
            connection.send(1, 4, protocol.fetch_body("parked", 0, 0, wait_ms=PARKED_SECONDS * 1000))
            self.assertEqual(protocol.fetch_error(connection.receive()), 6)

    # ---- one request, many moves ----

    def test_s04_and_s34_each_partition_gets_its_own_answer(self):
        self.create("judged", [1, 2, 3], [1, 2, 3])
        self.produce("judged", LINES, "-p", "0", *SMALL)
        self.start_moves({("judged", 0): [1, 2, 4]}, *SLOW)
        address = self.address(self.controller())
        move = ([1, 2, 4, 3], [4], [3])
        self.assertEqual(protocol.list_moves(address, {"judged": [0, 1, 99], "ghost": [0]}), (0, {("judged", 0): move}))
        self.assertEqual(protocol.list_moves(address)[1]["judged", 0], move)
        self.assertEqual(protocol.list_moves(address, {}), (0, {}))
        self.assertEqual(protocol.alter(address, {"judged": {0: []}}), (0, {("judged", 0): 39}))
        self.assertEqual(protocol.list_moves(address, {"judged": [0]}), (0, {("judged", 0): move}))
        self.assertEqual(protocol.alter(address, {"judged": {0: None, 1: None, 9: None}, "ghost": {0: None}}),
                         (0, {("judged", 0): 0, ("judged", 1): 85, ("judged", 9): 85, ("ghost", 0): 85}))
        self.wait_partition("judged", replicas=[1, 2, 3], adding=[], removing=[])

    def test_row_35_one_request_cancels_and_retargets(self):
        self.create("both", [1, 2], [1, 2])
        for partition in ("0", "1"):
            self.produce("both", LINES, "-p", partition, *SMALL)
        self.start_moves({("both", 0): [3, 4], ("both", 1): [3, 4]}, *SLOW)
        address = self.address(self.controller())
        self.assertEqual(protocol.alter(address, {"both": {0: None, 1: [5, 6]}}), (0, {("both", 0): 0, ("both", 1): 0}))
        self.assertEqual(protocol.list_moves(address, {"both": [0, 1]}),
                         (0, {("both", 1): ([5, 6, 1, 2], [5, 6], [1, 2])}))
        self.let_go("both")
        self.wait_idle("both")
        self.wait_replicas("both", [1, 2], [5, 6])
        self.assertEqual(self.consume("both", "-p", "0"), LINES)
        self.assertEqual(self.consume("both", "-p", "1"), LINES)
        wait_until("copies on 3 and 4 to go", lambda: self.folders("both", 1) == {5, 6} and self.folders("both") == {1, 2})

    def test_s03_the_same_target_again_keeps_what_is_copied(self):
        self.create("again", [1, 2, 3])
        self.produce("again", LINES, *SMALL)
        self.start_moves({("again", 0): [1, 2, 4]}, *SLOW)
        wait_until("the first bytes", lambda: self.log_bytes("again", 4) > 0)
        before, size = self.moves()["again", 0], self.log_bytes("again", 4)
        address = self.address(self.controller())
        for _ in range(2):  # the answer of the first is never read
            connection = protocol.Connection(address)
            connection.send(45, 0, protocol.alter_body({"again": {0: [1, 2, 4]}}), True)
            connection.socket.close()
        self.assertEqual(protocol.alter(address, {"again": {0: [1, 2, 4]}}), (0, {("again", 0): 0}))
        self.assertEqual(self.moves()["again", 0], before)
        self.assertGreaterEqual(self.log_bytes("again", 4), size)
        self.let_go("again")
        self.wait_idle("again")
        self.assertEqual(self.consume("again"), LINES)

    # ---- plan files ----

    def test_s05_bad_plans_change_nothing(self):
        self.create("foo", [1, 2, 3], [1, 2, 3], [1, 2, 3])
        before = self.partitions("foo")
        path = os.path.join(self.cluster.root, "bad.json")
        rates = {b: configs.describe(self.address(b), configs.BROKER, str(b)) for b in range(1, 7)}
        for name, content in BAD_PLANS.items():
            with self.subTest(name):
                with open(path, "wb") as file:
                    file.write(content)
                self.assert_refused(path)
        os.unlink(path)
        self.assert_refused(path)  # B34
        self.assert_refused(self.cluster.root)
        os.mkfifo(path)
        self.assert_refused(path)
        self.assertEqual(self.moves(), {})
        self.assertEqual(self.partitions("foo"), before)
        self.assertEqual(configs.describe(self.address(1), configs.TOPIC, "foo"), {})
        self.assertEqual({b: configs.describe(self.address(b), configs.BROKER, str(b)) for b in range(1, 7)}, rates)

    def assert_refused(self, path):
        result = self.cluster.admin("reassign", "--execute", "--reassignment-json-file", path, "--throttle", "1000",
                                    check=False)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stdout + result.stderr, "[Ee]rror|bad.json")
        self.assertNotIn("Successfully", result.stdout)
        self.assertNotIn("throttle limit was set", result.stdout)

    # ---- ends ----

    def test_s17_a_move_ends_when_all_of_its_target_is_in_sync(self):
        self.create("early", [1, 2, 3])
        self.produce("early", LINES, *SMALL)
        self.start_moves({("early", 0): [4, 5, 6]}, *SLOW)
        held = {"leader.replication.throttled.replicas": "", "follower.replication.throttled.replicas": "0:5,0:6"}
        self.assertEqual(configs.replace(self.address(1), configs.TOPIC, "early", held), 0)
        self.wait_partition("early", isr=[1, 2, 3, 4])
        self.produce("early", ["while it moves"])
        self.assertEqual(self.moves()["early", 0], ([4, 5, 6, 1, 2, 3], [4, 5, 6], [1, 2, 3]))
        self.assertLessEqual({1, 2, 3, 4}, self.folders("early"))
        self.assertIn(self.partitions("early")[0]["leader"], (1, 2, 3))
        self.let_go("early")
        self.wait_partition("early", replicas=[4, 5, 6], isr=[4, 5, 6], adding=[], removing=[])
        self.assertEqual(self.consume("early"), LINES + ["while it moves"])
        wait_until("the old copies to go", lambda: self.folders("early") == {4, 5, 6})

    def test_s19_a_new_order_is_told_to_be_one(self):
        self.create("order", [1, 2, 3])
        self.produce("order", LINES[:100])
        result = self.cluster.admin("reassign", "--execute", "--additional", "--throttle", "1000", "--reassignment-json-file",
                                    self.plan({("order", 0): [3, 1, 2]}))
        self.assertIn("only change the order of their replicas: nothing is copied, and leaders stay until an election "
                      "(klamm leader-election).\n", result.stderr)
        self.assertIn("no throttle is set", result.stderr)
        self.assertEqual(configs.describe(self.address(2), configs.TOPIC, "order"), {})
        self.assertNotIn(("order", 0), self.moves())
        self.wait_partition("order", replicas=[3, 1, 2], leader=1, isr=[1, 2, 3])
        self.cluster.admin("leader-election", "--topic", "order", "--partition", "0")
        self.wait_partition("order", leader=3)

    def test_s20_a_move_is_not_under_replication(self):
        self.create("moved", [1, 2, 3])
        self.create("grown", [1, 2, 3])
        for topic, row in (("moved", [1, 2, 4]), ("grown", [1, 2, 3, 4])):
            self.produce(topic, LINES, *SMALL)
            self.start_moves({(topic, 0): row}, *SLOW)
            self.wait_partition(topic, adding=[4], isr=[1, 2, 3], under_replicated=False)
        self.start_moves({("grown", 0): [1, 2]}, "--additional")  # override: only removes, and ends at once
        self.wait_partition("grown", replicas=[1, 2], isr=[1, 2], under_replicated=False)
        self.cluster.dev("stop", "2")
        try:
            self.wait_partition("moved", isr=[1, 3], adding=[4], under_replicated=True)
        finally:
            self.cluster.dev("start", "2")
        self.cancel(("moved", 0))
        self.wait_partition("moved", replicas=[1, 2, 3], isr=[1, 2, 3], under_replicated=False)

    # ---- override and cancel ----

    def test_row_29_an_override_deletes_the_half_copy(self):
        self.create("half", [1, 2])
        self.produce("half", LINES, *SMALL)
        self.start_moves({("half", 0): [3, 4]}, *SLOW)
        # The first piece puts the leader into debt for a minute: one of the two has it, no matter which.
        wait_until("a part of the copy", lambda: self.log_bytes("half", 3) + self.log_bytes("half", 4) > 0)
        self.assertLess(self.log_bytes("half", 3) + self.log_bytes("half", 4), self.log_bytes("half", 1))
        self.start_moves({("half", 0): [5, 6]}, "--additional")
        self.assertEqual(self.moves()["half", 0], ([5, 6, 1, 2], [5, 6], [1, 2]))
        wait_until("the half copies to go", lambda: not self.folders("half") & {3, 4})
        self.let_go("half")
        self.wait_partition("half", replicas=[5, 6], isr=[5, 6], adding=[], removing=[])
        self.assertEqual(self.consume("half"), LINES)
        wait_until("the old copies to go", lambda: self.folders("half") == {5, 6})

    def test_rows_32_and_34_a_cancel_takes_out_who_joined(self):
        self.create("joined", [1, 2, 3])
        self.produce("joined", LINES, *SMALL)
        self.start_moves({("joined", 0): [4, 5, 6]}, *SLOW)
        held = {"leader.replication.throttled.replicas": "", "follower.replication.throttled.replicas": "0:5,0:6"}
        self.assertEqual(configs.replace(self.address(1), configs.TOPIC, "joined", held), 0)
        self.wait_partition("joined", isr=[1, 2, 3, 4])
        self.cancel(("joined", 0))
        self.assertNotIn(("joined", 0), self.moves())
        self.wait_partition("joined", replicas=[1, 2, 3], isr=[1, 2, 3], adding=[], removing=[])
        wait_until("the copies to go", lambda: self.folders("joined") == {1, 2, 3})
        self.assertEqual(self.consume("joined"), LINES)

    def test_s21_a_cancelled_copy_leaves_nothing_behind(self):
        self.create("undone", [1, 2, 3])
        self.produce("undone", LINES, *SMALL)
        self.start_moves({("undone", 0): [1, 2, 4]}, *SLOW)
        wait_until("a part of the copy", lambda: self.log_bytes("undone", 4) > 0)
        self.cancel(("undone", 0))
        wait_until("the copy to go", lambda: self.folders("undone") == {1, 2, 3})
        self.cluster.admin("topics", "delete", "undone")
        wait_until("the logs to go", lambda: not self.folders("undone"))
        self.create("undone", [4, 5])
        self.assertEqual(self.consume("undone"), [])
        self.produce("undone", ["new"])
        self.assertEqual(self.consume("undone"), ["new"])

    def test_s22_and_row_53_deletion_and_growth_in_a_move(self):
        self.create("orders", [1, 2], [2, 3], [3, 1])
        self.create("idle", [1, 2])
        for partition in ("0", "1", "2"):
            self.produce("orders", LINES[:10000], "-p", partition, *SMALL)
        self.start_moves({("orders", 0): [4, 5], ("orders", 1): [5, 6], ("orders", 2): [6, 4]}, *SLOW)
        address = self.address(self.controller())
        self.assertEqual(protocol.create_partitions(address, {"orders": 4, "idle": 2}), {"orders": 60, "idle": 0})
        self.wait_told("the new partition", "idle", lambda told: len(told) == 2)
        self.cluster.admin("topics", "delete", "orders")
        wait_until("the list to lose it", lambda: not any(topic == "orders" for topic, _ in self.moves()))
        self.start_moves({("idle", 0): [5, 6]})
        self.wait_idle("idle")
        wait_until("all files to go", lambda: not any(self.folders("orders", p) for p in range(3)))
        controller = self.controller()
        self.cluster.dev("kill", str(controller))
        wait_until("another controller", lambda: self.controller() != controller)
        self.wait_told("the move of idle to stay", "idle", lambda told: told and told[0].replicas == [5, 6])
        self.wait_told("orders to be gone", "orders", lambda told: told == [])
        self.assertNotIn("orders", self.cluster.admin("topics", "list").stdout)
        self.cluster.dev("start", str(controller))

    def test_s23_moves_outlive_three_controllers(self):
        others = [b for b in range(1, 6)]
        self.create("many", *[[others[i % 5], others[(i + 1) % 5]] for i in range(20)])
        for partition in range(20):
            self.produce("many", LINES[:3000], "-p", str(partition), *SMALL)
        plan = {("many", i): [others[i % 5], 6] for i in range(20)}
        self.start_moves(plan, *SLOW)
        self.cluster.dev("kill", "6")
        before = self.moves()
        self.assertEqual(len(before), 20)
        # Sizes are known after the second look at the moves; when they began is stored by the first.
        wait_until("sizes of all", lambda: all(m["to_copy"] > 0 for m in self.report().moves.values()))
        started = {tp: move["started_ms"] for tp, move in self.report().moves.items()}
        for _ in range(3):
            controller = self.controller()
            self.cluster.dev("kill", str(controller))
            wait_until("another controller", lambda old=controller: self.controller() != old)
            self.assertEqual(self.moves(), before)
            self.assertEqual({tp: move["started_ms"] for tp, move in self.report().moves.items()}, started)
            self.cluster.dev("start", str(controller))
        self.cluster.dev("start", "6")
        self.let_go("many")
        self.wait_idle("many")
        self.wait_replicas("many", *plan.values())
        for partition in range(20):
            self.assertEqual(self.consume("many", "-p", str(partition)), LINES[:3000])


if __name__ == "__main__":
    unittest.main()
