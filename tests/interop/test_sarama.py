"""sarama reads our lists of moves: a recent release, and one that tagged fields would lead astray."""

import os

import interop

MODULE = "github.com/IBM/sarama@"
RELEASES = ("v1.40.0", "v1.43.3")


class Sarama(interop.ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.workshop = interop.Workshop("sarama.go")
        cls.workshop.fetch("go", "mod", "init", "interop")
        for release in RELEASES:
            cls.workshop.fetch("go", "get", MODULE + release)
            cls.workshop.build("go", "build", "-o", release, "sarama.go")
        super().setUpClass()

    def tearDown(self):
        self.cluster.admin("topics", "delete", "foreign", check=False)

    def test_moves_are_listed_and_overridden(self):
        for release in RELEASES:
            with self.subTest(release):
                type(self).command = (os.path.join(self.workshop.path, release),)
                self.check_moves()
            self.tearDown()


if __name__ == "__main__":
    interop.main()
