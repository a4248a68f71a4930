"""kafkajs 2.2.4 reads our lists of moves: it is one of the clients that tagged fields would lead astray (decision 6)."""

import interop

PACKAGE = "kafkajs@2.2.4"


class KafkaJs(interop.ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.workshop = interop.Workshop("kafkajs.js")
        cls.workshop.fetch("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", PACKAGE)
        cls.command = ("node", "kafkajs.js")
        super().setUpClass()

    def test_moves_are_listed_and_overridden(self):
        self.check_moves()


if __name__ == "__main__":
    interop.main()
