"""franz-go's admin client reads our lists of moves."""

import os

import interop

MODULES = ("github.com/twmb/franz-go@v1.18.0", "github.com/twmb/franz-go/pkg/kadm@v1.14.0")


class Franz(interop.ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.workshop = interop.Workshop("franz.go")
        cls.workshop.fetch("go", "mod", "init", "interop")
        cls.workshop.fetch("go", "get", *MODULES)
        cls.workshop.build("go", "build", "-o", "client", "franz.go")
        cls.command = (os.path.join(cls.workshop.path, "client"),)
        super().setUpClass()

    def test_moves_are_listed_and_overridden(self):
        self.check_moves()


if __name__ == "__main__":
    interop.main()
