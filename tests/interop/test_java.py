"""Apache Kafka's own admin client reads our lists of moves."""

import interop


class Java(interop.ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.workshop = interop.Workshop("pom.xml", "Moves.java")
        cls.workshop.fetch("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib")
        cls.workshop.fetch("javac", "-version")
        cls.workshop.build("javac", "-cp", "lib/*", "Moves.java")
        cls.command = ("java", "-cp", "lib/*:.", "Moves")
        super().setUpClass()

    def test_moves_are_listed_and_overridden(self):
        self.check_moves()


if __name__ == "__main__":
    interop.main()
