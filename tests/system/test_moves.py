"""Moves with real processes under load: rows 16 to 38 of the reassignment specification's section 15 that a client sees."""

import unittest

from support import ClusterTest, wait_until

LINES = ["line %06d %s" % (i, "payload " * 20) for i in range(20000)]


class Moves(ClusterTest):
    brokers = 6
    options = ("--set", "log.segment.delete.delay.ms=500")

    def plan(self, topic, *rows):
        """A plan file: row i is the target of partition i, None leaves it out."""
        return super().plan({(topic, i): row for i, row in enumerate(rows) if row is not None})

    def reassign(self, action, path, *options, check=True):
        return self.cluster.admin("reassign", action, "--reassignment-json-file", path, *options, check=check)

    def wait_idle(self):
        wait_until("moves to end",
                   lambda: "No partition reassignments found." in self.cluster.admin("reassign", "--list").stdout)

    def test_row_24_a_full_move_loses_and_repeats_nothing(self):
        self.create("full", [1, 2, 3])
        self.produce("full", LINES[:10000])
        self.reassign("--execute", self.plan("full", [4, 5, 6]))
        self.produce("full", LINES[10000:])
        self.wait_idle()
        self.wait_replicas("full", [4, 5, 6])
        self.wait_isr("full", [4, 5, 6])
        self.wait_leader("full", 4, 5, 6)
        self.assertEqual(self.consume("full"), LINES)

    def test_row_16_single_replica(self):
        self.create("single", [1])
        self.produce("single", LINES[:1000])
        self.reassign("--execute", self.plan("single", [2]))
        self.wait_idle()
        self.wait_replicas("single", [2])
        self.assertEqual(self.consume("single"), LINES[:1000])
        wait_until("the old copy to go", lambda: len(self.folders("single")) == 1)

    def test_row_21_a_reorder_moves_no_leader(self):
        self.create("reorder", [1, 2, 3])
        self.reassign("--execute", self.plan("reorder", [3, 1, 2]))
        self.wait_replicas("reorder", [3, 1, 2])
        self.assertEqual({told[0].leader for told in self.told("reorder")}, {1})

    def test_rows_18_and_19_factor_up_and_down(self):
        self.create("factor", [1, 2])
        self.produce("factor", LINES[:500])
        self.reassign("--execute", self.plan("factor", [1, 2, 3]))
        self.wait_idle()
        self.wait_isr("factor", [1, 2, 3])
        self.reassign("--execute", self.plan("factor", [2, 3]))
        self.wait_idle()
        self.wait_replicas("factor", [2, 3])
        self.assertEqual(self.consume("factor"), LINES[:500])

    def test_rows_31_and_33_a_cancel_restores_the_order_too(self):
        self.create("undo", [1, 2, 3])
        self.produce("undo", LINES[:500])
        self.cluster.dev("kill", "4")
        try:
            # The controller may learn of the death a moment later than we: before, 4 is a live target; after, it is refused.
            path = self.plan("undo", [3, 4, 2])
            result = self.reassign("--execute", path, check=False)
            if result.returncode == 0:
                listed = self.cluster.admin("reassign", "--list").stdout
                self.assertIn("undo-0: replicas: 3,4,2,1. adding: 4. removing: 1.", listed)
                self.reassign("--cancel", path)
            self.wait_replicas("undo", [1, 2, 3])
        finally:
            self.cluster.dev("start", "4")
        self.assertEqual(self.consume("undo"), LINES[:500])

    def test_row_30_stacked_overrides_end_at_the_last(self):
        self.create("stacked", [1, 2])
        self.produce("stacked", LINES[:5000])
        for row in ([3, 4], [4, 5], [5, 6]):
            self.reassign("--execute", self.plan("stacked", row), "--additional")
        self.wait_idle()
        self.wait_replicas("stacked", [5, 6])
        self.assertEqual(self.consume("stacked"), LINES[:5000])
        wait_until("leftovers to go", lambda: len(self.folders("stacked")) == 2)

    def test_a_broker_killed_in_the_move_comes_back_and_the_move_ends(self):
        self.create("killed", [1, 2, 3])
        self.produce("killed", LINES)
        self.reassign("--execute", self.plan("killed", [4, 5, 6]))
        self.cluster.dev("kill", "5")
        self.cluster.dev("start", "5")
        self.wait_idle()
        self.wait_replicas("killed", [4, 5, 6])
        self.assertEqual(self.consume("killed"), LINES)

    def test_data_and_moves_survive_a_restart_of_everything(self):
        self.create("kept", [1, 2, 3])
        self.produce("kept", LINES[:2000])
        self.assertEqual(self.cluster.process.poll(), None)
        self.cluster.process.terminate()
        self.assertEqual(self.cluster.process.wait(60), 0)
        self.cluster.process.stdout.close()
        self.cluster.start()
        self.wait_leader("kept", 1, 2, 3)
        self.assertEqual(self.consume("kept"), LINES[:2000])


if __name__ == "__main__":
    unittest.main()
