"""DeleteRecords with real brokers: case S36 of the field scenarios, and what clients see of it."""

import json
import struct
import unittest

import protocol
from support import ClusterTest, wait_until

ONE_BATCH = ("-X", "linger.ms=2000", "-X", "batch.num.messages=1000", "-X", "batch.size=1000000")
NOT_LEADER = 6
OUT_OF_RANGE = 1


class DeleteRecords(ClusterTest):
    brokers = 3

    def delete(self, broker, topic, partition, offset):
        """Error code and low watermark that the broker answers."""
        part = struct.pack(">iq", partition, offset)
        body = protocol.array([protocol.text(topic) + protocol.array([part])]) + struct.pack(">i", 30000)
        reader = protocol.call(self.address(broker), 21, 1, body)
        reader.take("i")
        self.assertEqual((reader.take("i"), reader.text(), reader.take("i")), (1, topic, 1))
        self.assertEqual(reader.take("i"), partition)
        low = reader.take("q")
        return reader.take("h"), low

    def earliest(self, broker, topic):
        """(error, offset) of ListOffsets for the start of partition 0."""
        part = struct.pack(">iq", 0, -2)
        body = struct.pack(">ib", -1, 0) + protocol.array([protocol.text(topic) + protocol.array([part])])
        reader = protocol.call(self.address(broker), 2, 2, body)
        reader.take("i"), reader.take("i"), reader.text(), reader.take("i"), reader.take("i")
        error = reader.take("h")
        reader.take("q")
        return error, reader.take("q")

    def offsets(self, topic):
        rows = [line.split(" ", 1) for line in self.consume(topic, "-p", "0", "-f", "%o %s\\n")]
        return [(int(offset), text) for offset, text in rows]

    def test_s36_a_log_start_inside_a_batch_moves_along(self):
        lines = ["record %d" % i for i in range(100)]
        self.create("inside", [1])
        self.produce("inside", lines, *ONE_BATCH)
        self.assertEqual(self.delete(1, "inside", 0, 37), (0, 37))
        left = [(i, lines[i]) for i in range(37, 100)]
        self.assertEqual(self.offsets("inside"), left)
        path = self.plan({("inside", 0): [2, 3]})
        self.cluster.admin("reassign", "--execute", "--reassignment-json-file", path)
        wait_until("the move to end", lambda: not json.loads(
            self.cluster.admin("reassign", "--list", "--json").stdout)["reassignments"])
        self.wait_replicas("inside", [2, 3])
        self.wait_isr("inside", [2, 3])
        leader = self.wait_leader("inside", 2, 3)
        self.assertEqual(self.offsets("inside"), left)
        self.assertEqual(self.earliest(leader, "inside"), (0, 37))
        # The one that follows has the same start: it keeps it when it leads.
        self.cluster.dev("stop", str(leader))
        try:
            other = self.wait_leader("inside", 5 - leader)
            self.assertEqual(self.offsets("inside"), left)
            self.assertEqual(self.earliest(other, "inside"), (0, 37))
        finally:
            self.cluster.dev("start", str(leader))

    def test_the_start_outlives_a_crash_of_all_replicas(self):
        lines = ["record %d" % i for i in range(50)]
        self.create("kept", [1, 2])
        self.produce("kept", lines)
        self.assertEqual(self.delete(1, "kept", 0, 20), (0, 20))
        for broker in (1, 2):
            self.cluster.dev("kill", str(broker))
        for broker in (1, 2):
            self.cluster.dev("start", str(broker))
        self.assertEqual(self.offsets("kept"), [(i, lines[i]) for i in range(20, 50)])

    def test_refusals_change_nothing(self):
        self.create("refused", [1, 2])
        self.produce("refused", ["a", "b"])
        self.assertEqual(self.delete(2, "refused", 0, 1)[0], NOT_LEADER)
        self.assertEqual(self.delete(3, "refused", 0, 1)[0], NOT_LEADER)
        self.assertEqual(self.delete(1, "refused", 0, 3)[0], OUT_OF_RANGE)
        self.assertEqual(self.earliest(1, "refused"), (0, 0))
        self.assertEqual(self.delete(1, "refused", 0, -1), (0, 2))
        self.assertEqual(self.offsets("refused"), [])


if __name__ == "__main__":
    unittest.main()
