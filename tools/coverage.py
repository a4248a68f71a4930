#!/usr/bin/env python3
"""Checks docs/coverage.md: every scenario that must be tested has a line, and every test it names exists.

A line is a table row: number, content, tests. Tests are `FILE`: NAME, NAME; `FILE`: NAME with files below tests/.
Of docs/differences.md: the files and folders of tests that it names exist.
One line a finding, exit status 1 if any.
"""
import argparse
import pathlib
import re
import sys

ROWS = range(1, 81)
CASES = ["S%02d" % n for n in (3, 4, 5, 7, 8, 10, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 32, 33, 34, 36, 38, 39, 40)]
REASONS = range(1, 11)
PLANS = [n for n in range(1, 38) if n not in (16, 21, 22)]
REQUIRED = [*map(str, ROWS), *CASES, *("R%d" % n for n in REASONS), *("B%02d" % n for n in PLANS)]
LINE = re.compile(r"^\| *(\w+) *\|.*\|([^|]*)\|$")
TESTS = re.compile(r"`([^`]+)`: (\w+(?:, \w+)*)")
PLACES = re.compile(r"`((?:unit|compat|crash|system|interop)/[\w/]+)`")


def is_defined(text, name):
    """A function of C that takes cmocka's state, or one of Python."""
    return re.search(r"^static void %s\(void \*\*state\)$|^ *def %s\(" % (name, name), text, re.M) is not None


def check_tests(source, number, cell):
    found = TESTS.findall(cell)
    if not found or TESTS.sub("", cell).strip(" ;"):
        yield "%s: the tests must be `FILE`: NAME, NAME; ..." % number
    for name, functions in found:
        path = source / "tests" / name
        text = path.read_text(encoding="utf-8") if path.is_file() else None
        if text is None:
            yield "%s: there is no tests/%s" % (number, name)
            continue
        for function in functions.split(", "):
            if not is_defined(text, function):
                yield "%s: tests/%s has no %s" % (number, name, function)


def check_places(source):
    """Findings in docs/differences.md, one text each; it names tests without their suffixes."""
    for place in PLACES.findall((source / "docs/differences.md").read_text(encoding="utf-8")):
        if not any((source / "tests" / (place + suffix)).exists() for suffix in ("", ".c", ".py")):
            yield "there is no tests/%s" % place


def check(source):
    """Findings in docs/coverage.md, one text each."""
    seen = set()
    for line in (source / "docs/coverage.md").read_text(encoding="utf-8").splitlines():
        match = LINE.match(line)
        if match and re.search(r"\d", match[1]):
            if match[1] in seen:
                yield "%s: has two lines" % match[1]
            seen.add(match[1])
            yield from check_tests(source, match[1], match[2])
    for number in REQUIRED:
        if number not in seen:
            yield "%s: has no line" % number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    source = parser.parse_args().source
    findings = ["docs/coverage.md: " + text for text in check(source)]
    findings += ["docs/differences.md: " + text for text in check_places(source)]
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
