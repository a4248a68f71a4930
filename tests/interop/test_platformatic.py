"""@platformatic/kafka reads our lists of moves, by its functions for single APIs."""

import interop

PACKAGE = "@platformatic/kafka@1.35.0"


class Platformatic(interop.ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.workshop = interop.Workshop("platformatic.mjs")
        cls.workshop.fetch("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", PACKAGE)
        cls.command = ("node", "platformatic.mjs")
        super().setUpClass()

    def test_moves_are_listed_and_overridden(self):
        self.check_moves()


if __name__ == "__main__":
    interop.main()
