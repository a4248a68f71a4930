"""The queue of moves with real processes: slots, order, pause, cancel, undo, one at a time, and a failover amid all that.

Moves are held back by pausing them or by a rate of a few bytes, so that what is to be seen cannot be over too soon.
"""

import unittest

import configs
import protocol
import queue_protocol as queue
from support import ClusterTest, wait_until

LINES = ["line %06d %s" % (i, "payload " * 20) for i in range(2000)]
SLOT, TARGET_DOWN, PAUSED_REASON = 1, 2, 10
LIMITS = ("klamm.moves.max.in.per.broker", "klamm.moves.max.out.per.broker", "klamm.moves.max.per.cluster",
          "klamm.moves.max.bytes.in.flight")


class MovesQueue(ClusterTest):
    brokers = 6

    def tearDown(self):
        self.set_limits()
        self.alter(action=queue.RESUME)
        self.alter(action=queue.CANCEL, force=True)
        self.wait_idle()

    def alter(self, topics=None, **fields):
        return queue.alter(self.controller_address(), topics, **fields)

    def moves(self):
        """Of whoever is controller: one that has just taken over refuses for a moment."""
        return wait_until("an answer of the controller", lambda: queue.status(self.controller_address()))

    def controller_address(self):
        return self.address(self.controller())

    def set_limits(self, **limits):
        """in_=1, out=1, cluster=1, bytes=1000: the others are switched off."""
        given = dict(zip(("in_", "out", "cluster", "bytes"), LIMITS))
        settings = {given[name]: str(value) for name, value in limits.items()}
        self.assertEqual(configs.replace(self.controller_address(), configs.BROKER, "", settings), 0)
        self.wait_settings(configs.BROKER, "", settings)

    def wait_idle(self):
        def idle():
            found = self.moves()
            return not found["moving"] and not found["queued"]
        wait_until("moves to end", idle)

    def wait_job(self, name, state):
        return wait_until("job %s to be in state %d" % (name, state),
                          lambda: [j for j in [self.moves()["jobs"].get(name)] if j and j["state"] == state])[0]

    def make(self, topic, count, lines=1000, row=(1, 2, 3)):
        """Each partition gets so many lines: by default more than the piece that a rate of 1 lets pass at once."""
        self.create(topic, *[list(row)] * count)
        for partition in range(count if lines else 0):
            self.produce(topic, LINES[:lines], "-p", str(partition))

    def test_a_submitted_job_runs_to_its_end(self):
        self.make("runs", 8)
        code, job, found = self.alter({"runs": {p: [4, 5, 6] for p in range(8)}}, action=queue.SUBMIT, job="to-456")
        self.assertEqual((code, job), (0, "to-456"))
        self.assertEqual(set(found.values()), {(0, queue.NOTE_QUEUED)})
        done = self.wait_job("to-456", queue.DONE)
        self.assertEqual((done["total"], done["done"], done["cancelled"]), (8, 8, 0))
        self.assertEqual((done["submitted_by"], done["client_id"]), ("User:ANONYMOUS", "protocol.py"))
        self.wait_replicas("runs", *[[4, 5, 6]] * 8)

    def test_names_are_unique_and_checked(self):
        self.make("names", 1, lines=0)
        self.assertEqual(self.alter({"names": {0: [4, 5, 6]}}, action=queue.SUBMIT, job="a/b")[0], 42)
        self.assertEqual(self.alter({"names": {0: [4, 5, 6]}}, action=queue.SUBMIT, job="once")[0], 0)
        self.assertEqual(self.alter({"names": {0: [1, 2, 3]}}, action=queue.SUBMIT, job="once")[0], 92)
        self.assertEqual(self.alter(action=queue.CANCEL, job="never")[0], 91)

    def test_a_submission_judges_its_entries(self):
        self.make("judged", 2, lines=0)
        code, _, found = self.alter({"judged": {0: [4, 4, 5], 1: [4, 5, 6], 7: [1, 2, 3]}}, action=queue.SUBMIT,
                                    validate_only=True)
        self.assertEqual((code, found["judged", 0][0], found["judged", 1][0], found["judged", 7][0]), (0, 39, 0, 3))
        self.assertEqual(self.moves()["queued"], {})
        self.wait_replicas("judged", *[[1, 2, 3]] * 2)

    def test_no_more_run_at_a_time_than_the_operator_allows(self):
        self.make("slots", 6)
        self.set_limits(cluster=2)
        _, job, found = self.alter({"slots": {p: [4, 5, 6] for p in range(6)}}, action=queue.SUBMIT, rate=1)
        wait_until("two to run", lambda: len(self.moves()["moving"]) == 2)
        now = self.moves()
        self.assertEqual(len(now["queued"]), 4)
        self.assertEqual({row["reason"] for row in now["queued"].values()}, {SLOT})
        self.assertEqual({row["job"] for row in now["moving"].values()}, {job})
        self.assertEqual(now["jobs"][job]["state"], queue.RUNNING)
        self.assertEqual(self.alter(action=queue.SETTINGS, job=job, rate=-2, priority=-1)[0], 0)
        self.wait_job(job, queue.DONE)
        self.wait_replicas("slots", *[[4, 5, 6]] * 6)

    def test_stock_moves_above_the_limit_wait_too(self):
        self.make("stock", 4)
        self.set_limits(in_=1)
        code, found = protocol.alter(self.controller_address(), {"stock": {p: [4, 5, 6] for p in range(4)}})
        self.assertEqual((code, set(found.values())), (0, {0}))
        self.wait_replicas("stock", *[[4, 5, 6]] * 4)

    def test_repair_goes_before_balance(self):
        self.make("order", 3, lines=0)
        self.set_limits(cluster=0)
        self.alter({"order": {0: [4, 5, 6]}}, action=queue.SUBMIT, job="balance", priority=2)
        self.alter({"order": {1: [4, 5, 6]}}, action=queue.SUBMIT, job="repair", priority=0, rate=1)
        self.produce("order", LINES[:1000], "-p", "1")
        self.set_limits(cluster=1)
        wait_until("one to run", lambda: self.moves()["moving"])
        self.assertEqual(list(self.moves()["moving"]), [("order", 1)])
        self.alter(action=queue.SETTINGS, job="repair", rate=-2, priority=-1)
        self.wait_job("balance", queue.DONE)

    def test_a_dead_target_makes_the_job_wait(self):
        self.make("dead", 1)
        victim = next(b for b in (4, 5, 6) if b != self.controller())
        self.cluster.dev("stop", str(victim))
        try:
            self.wait_gone(victim)
            code, job, found = self.alter({"dead": {0: [1, 2, victim]}}, action=queue.SUBMIT)
            self.assertEqual((code, found["dead", 0][0]), (0, 0))
            wait_until("the reason", lambda: [r for r in self.moves()["queued"].values() if r["reason"] == TARGET_DOWN])
        finally:
            self.cluster.dev("start", str(victim))
        self.wait_job(job, queue.DONE)
        self.wait_replicas("dead", [1, 2, victim])

    def test_pause_keeps_what_was_copied_and_resume_goes_on(self):
        self.make("paused", 2)
        _, job, _ = self.alter({"paused": {p: [4, 5, 6] for p in range(2)}}, action=queue.SUBMIT, rate=1)
        wait_until("both to run", lambda: len(self.moves()["moving"]) == 2)
        code, _, found = self.alter(action=queue.PAUSE, job=job)
        self.assertEqual((code, len(found)), (0, 2))
        self.assertEqual(self.moves()["jobs"][job]["state"], queue.PAUSED)
        self.assertEqual(self.alter(action=queue.SETTINGS, job=job, rate=-2, priority=-1)[0], 0)
        self.assertEqual(len(self.moves()["moving"]), 2)
        self.assertEqual(self.alter({"paused": {0: None}}, action=queue.RESUME)[0], 0)
        wait_until("the one to end", lambda: ("paused", 0) not in self.moves()["moving"])
        self.wait_told("the end of the one", "paused", lambda told: told and told[0].replicas == [4, 5, 6])
        self.assertEqual(list(self.moves()["moving"]), [("paused", 1)])
        self.alter(action=queue.RESUME, brokers=[4])
        self.wait_job(job, queue.DONE)

    def test_cancel_restores_the_order_and_empties_the_queue(self):
        self.make("undone", 5, row=(2, 3, 1))
        self.set_limits(cluster=2)
        _, job, _ = self.alter({"undone": {p: [4, 5, 6] for p in range(5)}}, action=queue.SUBMIT, rate=1)
        wait_until("two to run", lambda: len(self.moves()["moving"]) == 2)
        code, _, found = self.alter(action=queue.CANCEL, job=job)
        self.assertEqual((code, set(found.values()), len(found)), (0, {(0, 0)}, 5))
        self.assertEqual(self.moves()["queued"], {})
        self.wait_idle()
        self.wait_replicas("undone", *[[2, 3, 1]] * 5)
        self.assertEqual(self.wait_job(job, queue.CANCELLED)["cancelled"], 5)

    def test_a_topic_is_cancelled_as_a_whole(self):
        self.make("whole", 3)
        self.set_limits(cluster=0)
        self.alter({"whole": {p: [4, 5, 6] for p in range(3)}}, action=queue.SUBMIT)
        _, _, found = self.alter({"whole": {}}, action=queue.CANCEL)
        self.assertEqual(len(found), 3)
        self.assertEqual(self.moves()["queued"], {})

    def test_undo_takes_back_what_has_ended(self):
        self.make("back", 3, row=(3, 1, 2))
        _, job, _ = self.alter({"back": {p: [4, 5, 6] for p in range(3)}}, action=queue.SUBMIT)
        self.wait_job(job, queue.DONE)
        code, reverse, found = self.alter(action=queue.UNDO, job=job)
        self.assertEqual((code, len(found)), (0, 3))
        self.wait_job(reverse, queue.DONE)
        self.wait_replicas("back", *[[3, 1, 2]] * 3)

    def test_one_at_a_time_and_back_from_the_middle(self):
        self.make("steps", 1)
        _, job, _ = self.alter({"steps": {0: [4, 5, 6]}}, action=queue.SUBMIT, one_at_a_time=True)
        self.wait_job(job, queue.DONE)
        self.wait_replicas("steps", [4, 5, 6])
        _, job, _ = self.alter({"steps": {0: [1, 2, 3]}}, action=queue.SUBMIT, one_at_a_time=True, rate=100000)

        def is_under_way():
            now = self.moves()
            return ("steps", 0) in now["moving"] or now["jobs"][job]["state"] == queue.DONE
        wait_until("the first step", is_under_way)
        self.alter(action=queue.CANCEL, job=job)
        self.wait_idle()
        self.wait_told("all of it or nothing", "steps", lambda told: [p.replicas for p in told] in ([[4, 5, 6]], [[1, 2, 3]]))

    def test_jobs_survive_a_failover(self):
        self.make("kept", 6)
        self.set_limits(cluster=1)
        _, job, _ = self.alter({"kept": {p: [4, 5, 6] for p in range(6)}}, action=queue.SUBMIT, rate=1, priority=1)
        self.alter({"kept": {5: None}}, action=queue.PAUSE)
        wait_until("one to run", lambda: len(self.moves()["moving"]) == 1)
        before = self.moves()
        old = self.controller()
        self.cluster.dev("stop", str(old))
        try:
            wait_until("another controller", lambda: self.controller() not in (old, -1))
            after = wait_until("its list", lambda: [s for s in [self.moves()] if s["jobs"].get(job)])[0]
            self.assertEqual(after["jobs"][job]["submitted_ms"], before["jobs"][job]["submitted_ms"])
            self.assertEqual(after["jobs"][job]["priority"], 1)
            self.assertEqual(after["queued"]["kept", 5]["state"], queue.PAUSED)
            self.assertEqual(set(after["queued"]) | set(after["moving"]), set(before["queued"]) | set(before["moving"]))
        finally:
            self.cluster.dev("start", str(old))
        self.alter(action=queue.RESUME)
        self.alter(action=queue.SETTINGS, job=job, rate=-2, priority=-1)
        self.wait_job(job, queue.DONE)
        self.wait_replicas("kept", *[[4, 5, 6]] * 6)

    def test_what_makes_no_sense_is_refused(self):
        self.assertEqual(self.alter(action=9)[0], 42)
        self.assertEqual(self.alter(action=queue.SETTINGS, priority=-1)[0], 42)
        self.assertEqual(self.alter(action=queue.SUBMIT, rate=0)[0], 42)
        self.assertEqual(self.alter(action=queue.SUBMIT, priority=3)[0], 42)


if __name__ == "__main__":
    unittest.main()
