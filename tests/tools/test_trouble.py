"""tools/trouble.py on small trees with one fault each."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import trouble

HEAD = trouble.HEADING + "\n\n| Line says | Means | Do |\n|---|---|---|\n"
CODE = r"""
#define ADMIN "/admin/" /* a path */
#define NODE ADMIN "plan"

static void lose(struct control *c, int partition, const char *why)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, "%s-%d is left alone: its state %.300s", c->name, partition, why);
    control_log_add(c, CONTROL_WARNING, em.text);
}

static void read(struct controller *c, bool is_held, const char *name)
{
    if (name[0] == '"') { /* "no string" */
        lose(c, 1, "is gone");
    }
    controller_log(c, CONTROL_INFO, "all is well");
    char *text = xasprintf("%s holds %s of %.*s", NODE, is_held ? "little" : "much", 5, name);
    controller_log(c, is_held ? CONTROL_WARNING : CONTROL_INFO, text);
}
"""
ROWS = ["`T-N is left alone: its state ...`", "`/admin/plan holds much of N`, `/admin/plan holds little of N`"]


class Trouble(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def findings(self, rows, code=CODE):
        for name, text in (("src/control/a.c", code),
                           ("docs/operations.md", HEAD + "".join("| %s | x | y |\n" % row for row in rows))):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        return list(trouble.check(self.root))

    def test_a_full_table_has_no_findings(self):
        self.assertEqual([], self.findings(ROWS))

    def test_a_line_that_nothing_says_is_found(self):
        for line in ("T-N is left aside", "/admin/plot holds much of N", "/admin/plan holds N of N"):
            self.assertEqual(["docs/operations.md:7: no message in src/ says `%s`" % line],
                             self.findings(ROWS + ["`%s`" % line]), line)

    def test_a_warning_without_a_row_is_found(self):
        self.assertEqual(['src/control/a.c:lose logs "_-_ is left alone: its state is gone", which has no row in '
                          "docs/operations.md"], self.findings(ROWS[1:]))
        self.assertEqual(['src/control/a.c:read logs "/admin/plan holds little of _", which has no row in '
                          "docs/operations.md"], self.findings([ROWS[0], "`/admin/plan holds much of N`"]))

    def test_a_text_is_followed_to_the_callers(self):
        code = CODE.replace("em.text)", "why)").replace('"is gone"', 'is_held ? "is gone" : NODE')
        self.assertEqual(['src/control/a.c:read logs "%s", which has no row in docs/operations.md' % text
                          for text in ("/admin/plan", "is gone")], self.findings(ROWS, code))

    def test_a_text_that_cannot_be_followed_is_found(self):
        self.assertEqual(["src/control/a.c:read logs what cannot be followed to its text"],
                         self.findings(ROWS[1:], CODE.replace("em.text)", "why)").replace('"is gone"', "name_of(c)")))

    def test_a_cell_that_is_no_line_is_found(self):
        for cell in ("T-N is left alone", "`T-N is left alone` or so", ""):
            self.assertIn("docs/operations.md:5: the first cell must be `LINE`, `LINE`, ...",
                          self.findings([cell] + ROWS), cell)

    def test_the_table_of_this_tree_is_that_of_its_code(self):
        self.assertEqual([], list(trouble.check(ROOT)))


if __name__ == "__main__":
    unittest.main()
