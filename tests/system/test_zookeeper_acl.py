"""What others made below the cluster's znodes, and access lists that keep the brokers out: one topic or entry is left
alone, the rest is served."""

import unittest

from servers import ServerTest
from support import wait_until


class Foreign(ServerTest):
    brokers = 3

    def ask(self, *words, session="reader"):
        self.cluster.asked += 1
        return self.cluster.sessions.ask(words[0], session, self.cluster.asked, *words[1:])

    def assert_nobody_gave_up(self):
        for server in self.cluster.servers.values():
            self.assertNotIn("gives up", server.log())

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


if __name__ == "__main__":
    unittest.main()
