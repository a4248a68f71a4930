"""tools/coverage.py on small trees with one fault each."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import coverage

C_TEST = "static void row_of_c(void **state)\n{\n}\n"
PYTHON_TEST = "class T:\n    def test_row(self):\n        pass\n"


class Coverage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in (("tests/unit/test_a.c", C_TEST), ("tests/system/test_b.py", PYTHON_TEST)):
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).write_text(text)
        (self.root / "docs").mkdir()

    def findings(self, changed=None, without=None):
        """With a good line for everything but `without`, and a changed line in place of that of row 1."""
        good = "`unit/test_a.c`: row_of_c; `system/test_b.py`: test_row"
        lines = ["| # | Content | Tests |", "|---|---|---|"]
        lines += ["| %s | x | %s |" % (number, changed if changed and number == "1" else good)
                  for number in coverage.REQUIRED if number != without]
        (self.root / "docs/coverage.md").write_text("\n".join(lines) + "\n")
        return list(coverage.check(self.root))

    def test_a_full_list_has_no_findings(self):
        self.assertEqual([], self.findings())

    def test_a_scenario_without_a_line_is_found(self):
        self.assertEqual(["B37: has no line"], self.findings(without="B37"))

    def test_a_test_that_does_not_exist_is_found(self):
        self.assertEqual(["1: tests/unit/test_a.c has no row_of"], self.findings("`unit/test_a.c`: row_of"))
        self.assertEqual(["1: tests/system/test_b.py has no row"], self.findings("`system/test_b.py`: row"))
        self.assertEqual(["1: there is no tests/unit/test_c.c"], self.findings("`unit/test_c.c`: row_of_c"))

    def test_a_line_without_tests_is_found(self):
        for cell in ("later", "`unit/test_a.c`", "`unit/test_a.c`: row_of_c and others"):
            self.assertEqual(["1: the tests must be `FILE`: NAME, NAME; ..."], self.findings(cell), cell)

    def test_a_difference_names_tests_that_exist(self):
        (self.root / "docs/differences.md").write_text("| 1 | `unit/test_a`: row | `system`: `system/test_b` |\n")
        self.assertEqual([], list(coverage.check_places(self.root)))
        (self.root / "docs/differences.md").write_text("| 1 | `unit`, `unit/b/test_a` |\n")
        self.assertEqual(["there is no tests/unit/b/test_a"], list(coverage.check_places(self.root)))

    def test_every_required_scenario_of_this_tree_has_its_tests(self):
        self.assertEqual([], list(coverage.check(ROOT)))
        self.assertEqual([], list(coverage.check_places(ROOT)))


if __name__ == "__main__":
    unittest.main()
