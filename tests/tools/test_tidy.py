"""tools/tidy.py on small files with one fault each."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import tidy

SOURCE = pathlib.Path("/tree")
HEAD = "/*\n * What it is.\n */\n"


def function(parameters="void", lines=1, comment=""):
    return f"{comment}int f({parameters})\n{{\n" + "    g();\n" * lines + "}\n"


class Tidy(unittest.TestCase):
    def findings(self, text, name="src/base/x.c"):
        path = SOURCE / name
        found = list(tidy.check_text(path, text))
        found += tidy.check_c_file(SOURCE, path, text, ["strcpy", "atoi"])
        return [(number, what.split(" (rule")[0]) for number, what in sorted(found)]

    def test_a_clean_file_has_no_findings(self):
        self.assertEqual([], self.findings(HEAD + function("int a, char *b", 70)))

    def test_a_banned_function_is_found_outside_of_text(self):
        text = HEAD + '/* strcpy(a) */\nconst char *s = "atoi(x)";\n' + function().replace("g()", "strcpy(a, b)")
        self.assertEqual([(8, "strcpy is banned (base/banned.h)")], self.findings(text))
        self.assertEqual([], self.findings(text, "tests/unit/base/test_x.c"))

    def test_scratch_comments_are_found_but_not_addresses(self):
        text = HEAD + 'const char *u = "http://x"; // here\n'
        self.assertEqual([(4, "a // comment is scratch")], self.findings(text))

    def test_a_todo_needs_an_issue(self):
        text = HEAD + "/* TODO(#12) later */\n/* TODO: later */\n"
        self.assertEqual([(5, "TODO without an issue number")], self.findings(text))

    def test_long_functions_need_a_reason(self):
        found = [(5, "a function of 71 lines, at most 70")]
        self.assertEqual(found, self.findings(HEAD + function(lines=71)))
        excused = function(lines=71, comment="\n/* tidy: long: one case a kind. */\n")
        self.assertEqual([], self.findings(HEAD + excused))

    def test_six_parameters_are_too_many_and_a_callback_is_one(self):
        six = "int a, int b, int c, int d, int e, int (*f)(int, int)"
        self.assertEqual([(5, "a function of 6 parameters, at most 5")], self.findings(HEAD + function(six)))
        callback = "int a, int b, int c, int d, done_fn done,\n      void *arg"
        self.assertEqual([], self.findings(HEAD + function(callback)))

    def test_files_open_with_a_comment_and_headers_are_guarded(self):
        self.assertEqual([(1, "no opening comment")], self.findings("int a;\n"))
        self.assertEqual([(1, "no #pragma once")], self.findings(HEAD, "src/base/x.h"))

    def test_blanks_tabs_and_the_last_line_are_checked(self):
        found = [(4, "trailing blanks"), (5, "a tab"), (5, "no newline at the end")]
        self.assertEqual(found, self.findings(HEAD + "int a; \n\tint b;"))

    def test_a_file_of_more_than_1000_lines_is_found(self):
        found = [(1, "a file of 1001 lines, at most 1000")]
        self.assertEqual(found, self.findings(HEAD + "int a;\n" * 998))


if __name__ == "__main__":
    unittest.main()
