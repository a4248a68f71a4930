"""Sessions of the ZooKeeper backend while the real server stops, hangs, restarts and forgets."""

import signal
import time
import unittest

import zookeeper
from zookeeper_sessions import DEADLINE_SECONDS, TIMEOUT_MS, Driver


class Faults(unittest.TestCase):
    def setUp(self):
        self.server = zookeeper.ZooKeeper()
        self.addCleanup(self.server.close)
        self.driver = Driver()
        self.addCleanup(self.driver.close)

    def wait_gone(self, name, path):
        end = time.monotonic() + DEADLINE_SECONDS
        number = 0
        while self.driver.ask("exists", name, "gone%d" % number, path) != "not found":
            self.assertLess(time.monotonic(), end, path + " stays")
            number += 1
            time.sleep(0.05)

    def test_reads_and_watches_survive_a_restart(self):
        d = self.driver
        d.open("a", self.server.address)
        d.open("b", self.server.address)
        self.assertEqual(d.ask("create", "a", 1, "/x", "zero"), "ok 0")
        self.assertEqual(d.ask("get", "a", 2, "/x", "watch"), "ok 0 zero")
        d.send("id", "a")
        before = d.wait("a id")
        self.server.kill()
        d.wait("a state disconnected")
        d.send("get", "a", 3, "/x")
        self.server.start()
        self.assertEqual(d.wait("a answer 3 "), "a answer 3 ok 0 zero")
        self.assertEqual(d.count("a state connected"), 2)
        d.send("id", "a")
        self.assertEqual(d.wait("a id"), before)
        self.assertEqual(d.ask("set", "b", 4, "/x", "one", 0), "ok 1")
        d.wait_for("a event changed /x")

    def test_change_during_an_absence_is_told_before_a_read_shows_it(self):
        d = self.driver
        d.open("a", self.server.address + "/chroot")
        d.open("b", self.server.address + "/chroot")
        self.assertEqual(d.ask("create", "a", 1, "/x", "zero"), "ok 0")
        self.assertEqual(d.ask("get", "a", 2, "/x", "watch"), "ok 0 zero")
        self.server.kill()
        d.wait("a state disconnected")
        d.send("set", "b", 3, "/x", "one", 0)  # waits, or its outcome is unknown and nothing happened
        self.server.start()
        answer = d.wait("b answer 3 ")
        if answer.endswith("unknown outcome"):
            self.assertEqual(d.ask("set", "b", 4, "/x", "one", 0), "ok 1")
        self.assertEqual(d.ask("get", "a", 5, "/x"), "ok 1 one")
        self.assertEqual(d.count("a event changed /x"), 1)

    def test_watches_beyond_one_request_survive_a_restart(self):
        """The client would set them all again in one request of 1.3 MB, and the server would drop it."""
        d = self.driver
        d.open("a", self.server.address + "/chroot")
        d.open("b", self.server.address + "/chroot")
        names = ["/%04d%s" % (number, "n" * 200) for number in range(6000)]
        for number, name in enumerate(names):
            d.send("create", "a", "c%d" % number, name, "x")
            d.send("get", "a", number, name, "watch")
        d.send("exists", "a", "later", "/later", "watch")
        d.send("children", "a", "names", names[4], "watch")
        d.wait("a answer names ok")
        d.send("id", "a")
        before = d.wait("a id")
        self.server.kill()
        d.wait("a state disconnected")
        d.wait_for("b state disconnected")
        d.send("set", "b", "set", names[1], "y", -1)
        d.send("delete", "b", "delete", names[2], -1)
        d.send("create", "b", "create", "/later", "x")
        d.send("create", "b", "child", names[4] + "/child", "x")
        self.server.start()
        d.wait("b answer child ok")
        self.assertEqual(d.ask("get", "a", "read", names[1]), "ok 1 y")
        for event in ("changed " + names[1], "deleted " + names[2], "created /later", "children " + names[4]):
            d.wait_for("a event " + event)
        self.assertEqual(d.ask("set", "b", "again", names[1], "z", 1), "ok 2")
        self.assertEqual(d.ask("set", "b", "last", names[5999], "z", 0), "ok 1")
        d.wait_for("a event changed " + names[5999])
        self.assertEqual(d.ask("get", "a", "end", "/later"), "ok 0 x")
        self.assertEqual(d.count("a event"), 5)
        d.send("id", "a")
        self.assertEqual(d.wait("a id"), before)

    def test_write_in_flight_is_unknown_and_reading_tells(self):
        """The server hangs, so the write stays without an answer until the client gives the connection up."""
        d = self.driver
        d.open("a", self.server.address, timeout_ms=15000)  # the client waits two thirds of it
        self.assertEqual(d.ask("create", "a", 1, "/x", "zero"), "ok 0")
        self.server.pause()
        d.send("get", "a", 2, "/x")
        d.send("set", "a", 3, "/x", "one", 0)
        d.send("get", "a", 4, "/x")
        d.wait("a state disconnected")
        self.server.resume()
        self.assertIn(d.wait("a answer 2 "), ("a answer 2 ok 0 zero", "a answer 2 ok 1 one"))
        self.assertEqual(d.wait("a answer 3 "), "a answer 3 unknown outcome")
        read = d.wait("a answer 4 ")
        self.assertIn(read, ("a answer 4 ok 0 zero", "a answer 4 ok 1 one"))
        again = "ok 2" if read.endswith("one") else "ok 1"
        self.assertEqual(d.ask("set", "a", 5, "/x", "two", -1), again)

    def test_writes_amid_a_restart_are_done_or_unknown_and_never_lost(self):
        d = self.driver
        d.open("a", self.server.address)
        count = 200
        for number in range(count):
            d.send("create", "a", number, "/n%d" % number, "x")
        d.wait("a answer 20 ")
        self.server.restart()
        d.wait("a answer %d " % (count - 1))
        answers = [line.split(" ", 3)[2:] for line in d.lines if line.startswith("a answer")]
        self.assertEqual([int(tag) for tag, _ in answers], list(range(count)))
        stored = set(d.ask("children", "a", "all", "/").split(" ")[2].split(","))
        for tag, answer in answers:
            if answer.startswith("ok"):
                self.assertIn("n" + tag, stored)
            else:
                self.assertEqual(answer, "unknown outcome")

    def test_calls_made_while_away_are_carried_out_in_order(self):
        d = self.driver
        d.open("a", self.server.address)
        self.server.kill()
        d.wait("a state disconnected")
        d.send("create", "a", 1, "/x", "zero")
        d.send("set", "a", 2, "/x", "one", 0)
        d.send("get", "a", 3, "/x")
        self.server.start()
        self.assertEqual(d.wait("a answer 1 "), "a answer 1 ok 0 ")
        self.assertEqual(d.wait("a answer 2 "), "a answer 2 ok 1 ")
        self.assertEqual(d.wait("a answer 3 "), "a answer 3 ok 1 one")

    def test_session_expires_when_it_was_away_too_long(self):
        """Only the client hangs, so that the server lets the session expire."""
        d = self.driver
        other = Driver()
        self.addCleanup(other.close)
        d.open("a", self.server.address, timeout_ms=5000)
        other.open("b", self.server.address)
        self.assertEqual(d.ask("create", "a", 1, "/e", "mine", "ephemeral"), "ok 0")
        self.assertEqual(other.ask("get", "b", 1, "/e", "watch"), "ok 0 mine")
        d.process.send_signal(signal.SIGSTOP)
        other.wait("b event deleted /e")
        d.send("get", "a", 2, "/x")
        d.process.send_signal(signal.SIGCONT)
        d.wait("a state expired")
        self.assertIn("a answer 2 session expired", d.lines)
        self.assertEqual(d.ask("get", "a", 3, "/"), "session expired")
        self.assertEqual(d.ask("create", "a", 4, "/y", "y"), "session expired")
        d.send("close", "a")
        d.open("c", self.server.address)
        self.assertEqual(d.ask("create", "c", 5, "/e", "new", "ephemeral"), "ok 0")

    def test_ephemerals_are_seen_by_others_until_close_or_timeout(self):
        d = self.driver
        for name in ("a", "b", "c"):
            d.open(name, self.server.address + "/deep/chroot")
        self.assertEqual(d.ask("create", "a", 1, "/a", "a", "ephemeral"), "ok 0")
        self.assertEqual(d.ask("create", "b", 2, "/b", "b", "ephemeral"), "ok 0")
        self.assertEqual(d.ask("children", "c", 3, "/", "watch"), "ok 0 a,b")
        d.send("close", "a")
        d.wait("c event children /")
        self.assertEqual(d.ask("children", "c", 4, "/"), "ok 0 b")
        owner = d.ask("owner", "c", "owner", "/b").split()[1]
        d.send("abandon", "b")
        self.assertEqual(d.ask("children", "c", 5, "/"), "ok 0 b")
        self.server.end_session(int(owner, 16))  # when its time has passed
        self.wait_gone("c", "/b")
        d.open("root", self.server.address)
        self.assertEqual(d.ask("children", "root", 6, "/deep"), "ok 0 chroot")

    def test_hosts_may_be_names_and_some_may_be_wrong(self):
        d = self.driver
        d.open("a", "%s:1,localhost:%d/chroot" % ("x" * 300, self.server.port))
        self.assertEqual(d.ask("create", "a", 1, "/x", "x"), "ok 0")
        self.server.restart()
        self.assertEqual(d.ask("get", "a", 2, "/x"), "ok 0 x")

    def test_unreachable_server_is_trouble_and_connects_later(self):
        d = self.driver
        self.server.stop()
        d.send("open", "a", TIMEOUT_MS, self.server.address + "/new")
        self.assertIn(self.server.address, d.wait("a trouble"))
        d.send("create", "a", 1, "/x", "x")
        self.server.start()
        d.wait("a state connected")
        self.assertEqual(d.wait("a answer 1 "), "a answer 1 ok 0 ")

    def test_emptied_server_is_not_taken_for_the_old_one(self):
        d = self.driver
        d.open("a", self.server.address + "/chroot")
        for number in range(5):
            d.ask("create", "a", number, "/x%d" % number, "x")
        self.server.kill()
        d.wait("a state disconnected")
        d.send("get", "a", "lost", "/x0")
        self.server.clear()
        self.server.start()
        d.open("b", self.server.address)
        self.assertEqual(d.ask("exists", "b", 1, "/chroot"), "not found")
        self.assertEqual(d.count("a answer lost ok"), 0)

    def test_access_lists_keep_others_out(self):
        d = self.driver
        d.open("owner", self.server.address + "/kafka", "broker:secret", "acl")
        d.open("other", self.server.address + "/kafka", "other:guess")
        d.open("owner2", self.server.address + "/kafka", "broker:secret")
        for number, path in enumerate(("/config", "/config/users", "/config/users/u", "/config/topics")):
            self.assertEqual(d.ask("create", "owner", number, path, "x"), "ok 0")
        self.assertEqual(d.ask("get", "other", 1, "/config/topics"), "ok 0 x")
        self.assertEqual(d.ask("get", "other", 2, "/config/users/u"), "refused")
        self.assertEqual(d.ask("set", "other", 3, "/config/topics", "y", -1), "refused")
        self.assertEqual(d.ask("create", "other", 4, "/mine", "y"), "refused")
        self.assertEqual(d.ask("get", "owner2", 5, "/config/users/u"), "ok 0 x")
        self.assertEqual(d.ask("set", "owner2", 6, "/config/topics", "y", 0), "ok 1")
        self.server.restart()  # the digest is given again
        self.assertEqual(d.ask("get", "owner2", 7, "/config/users/u"), "ok 0 x")

    def test_driver_frees_everything(self):
        d = self.driver
        d.open("a", self.server.address)
        self.server.pause()
        d.send("get", "a", 1, "/", "watch")
        d.send("create", "a", 2, "/x", "x")
        self.server.resume()
        self.assertEqual(d.close(), 0)


if __name__ == "__main__":
    unittest.main()
