#!/usr/bin/env python3
"""Checks the rules of docs/STYLE.md that no compiler checks: one line a finding, exit status 1 if any.

C files: banned functions (base/banned.h), // comments, TODO without an issue number, files and
functions too long, too many parameters, no opening comment, no #pragma once, no unit test, layout by
clang-format. All text files: trailing blanks, tabs, no newline at the end.
A comment `tidy: long: reason` inside or above a function excuses its length or parameters.
With --clang-tidy also what .clang-tidy asks for, which takes a minute.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

FILE_LINES_MAX = 1000
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 5
CLANG_FORMAT = "clang-format-14"
CLANG_TIDY = "clang-tidy-14"
TEXT_FOLDERS = ["src", "include", "tests", "fuzz", "bench", "tools", "cmake", "schema", "conf"]
TEXT_SUFFIXES = {".c", ".h", ".py", ".txt", ".cmake", ".schema", ".sh", ".md"}
# Source files without a unit test file of their own, and why that is right.
TESTED_ELSEWHERE = {
    "src/cli/plan_check.c": "findings of a file and of the cluster are compared whole: test_plan.c",
    "src/cli/plan_parse.c": "the same, and test_topic_names.c",
    "src/cmd/server_host.c": "it needs ZooKeeper: tests/system/test_zookeeper_cluster.py, test_server.py",
    "src/cli/session.c": "every command's test runs in a session: cli_fixture.h",
}


def text_files(source):
    for folder in TEXT_FOLDERS:
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in TEXT_SUFFIXES and path.is_file() and "corpus" not in path.parts:
                yield path


def banned_names(source):
    for line in (source / "src/base/banned.h").read_text().splitlines():
        match = re.match(r"#pragma GCC poison (.*)", line)
        if match:
            yield from match[1].split()


TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(match):
    """A comment or literal as blanks, its line ends kept."""
    return re.sub(r"[^\n]", " ", match[0])


def line_of(text, pos):
    return text.count("\n", 0, pos) + 1


def check_text(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "trailing blanks"
        if "\t" in line:
            yield number, "a tab"
    if text and not text.endswith("\n"):
        yield line_of(text, len(text)), "no newline at the end"


def check_comments(text):
    for match in TOKENS.finditer(text):
        if match[0].startswith("//"):
            yield line_of(text, match.start()), "a // comment is scratch (rule 47)"
        elif match[0].startswith("/*"):
            for todo in re.finditer(r"\b(TODO|FIXME|XXX)\b(?!\s*\(?#\d)", match[0]):
                number = line_of(text, match.start() + todo.start())
                yield number, f"{todo[0]} without an issue number (rule 47)"


def check_banned(code, banned):
    for match in re.finditer(r"\b(" + "|".join(banned) + r")\s*\(", code):
        yield line_of(code, match.start()), f"{match[1]} is banned (base/banned.h)"


def parameters_of(signature):
    """How many parameters the function has; a callback and its argument are one."""
    inner = signature[signature.index("(") + 1 : signature.rindex(")")]
    inner = re.sub(r"(\w+_fn\s+\w+),\s+void\s+\*\w+", r"\1", inner)
    depth, count = 0, 1
    for char in inner:
        depth += {"(": 1, ")": -1}.get(char, 0)
        count += char == "," and depth == 0
    return 0 if inner.strip() in ("", "void") else count


def functions_of(code):
    """(first line, last line, signature); the layout puts both braces of a function alone at column 0."""
    lines = code.split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            first = start - 1
            while first > 1 and lines[first - 2].strip() and lines[first - 2][0] not in "}#":
                first -= 1
            yield first, number, start, " ".join(lines[first - 1 : start - 1])
            start = None


def comment_above(lines, first):
    """The text of the comment that ends on the line before the function."""
    above = first - 1
    while above > 0 and lines[above - 1].strip() and not lines[above - 1].startswith("}"):
        above -= 1
    return "\n".join(lines[above:first])


def check_functions(text, code):
    lines = text.split("\n")
    for first, last, brace, signature in functions_of(code):
        body = "\n".join(lines[first - 1 : last])
        if "tidy: long:" in body or "tidy: long:" in comment_above(lines, first):
            continue
        length = last - brace - 1
        if length > FUNCTION_LINES_MAX:
            yield brace, f"a function of {length} lines, at most {FUNCTION_LINES_MAX} (rule 13)"
        if "(" in signature and parameters_of(signature) > PARAMETERS_MAX:
            count = parameters_of(signature)
            yield brace, f"a function of {count} parameters, at most {PARAMETERS_MAX} (rule 13)"


def check_head(path, text):
    if not text.startswith("/*"):
        yield 1, "no opening comment (rule 44)"
    guard = r"^#(pragma once|ifndef KLAMM_H)$"  # the public header is for any compiler
    if path.suffix == ".h" and not re.search(guard, text, re.MULTILINE):
        yield 1, "no #pragma once (rule 40)"


def check_c_file(source, path, text, banned):
    code = TOKENS.sub(blank, text)
    yield from check_comments(text)
    yield from check_functions(text, code)
    yield from check_head(path, text)
    if path.is_relative_to(source / "src"):
        yield from check_banned(code, banned)
        length = text.count("\n")
        if path.suffix == ".c" and length > FILE_LINES_MAX:
            yield 1, f"a file of {length} lines, at most {FILE_LINES_MAX}"


def check_unit_tests(source):
    tests = {path.name for path in (source / "tests/unit").rglob("test_*.c")}
    for path in sorted((source / "src").rglob("*.c")):
        name = path.relative_to(source).as_posix()
        folder = path.relative_to(source / "src").parts[0]
        has_test = any((source / "tests/unit" / folder).rglob(f"test_{path.name}"))
        if has_test and name in TESTED_ELSEWHERE:
            yield f"{name}: has a unit test now: take it off the list in tools/tidy.py"
        elif not has_test and name not in TESTED_ELSEWHERE:
            yield f"{name}: no tests/unit/{folder}/test_{path.name} (rule 49)"
    for name in TESTED_ELSEWHERE:
        if not (source / name).exists():
            yield f"{name}: gone: take it off the list in tools/tidy.py"


def run_in_groups(command, paths, group_size):
    """What the command says about the files, a group of them a process, on all cores."""
    if shutil.which(command[0]) is None:
        print(f"tidy: {command[0]} is not installed, its checks are left out", file=sys.stderr)
        return
    groups = [paths[at : at + group_size] for at in range(0, len(paths), group_size)]

    def run(group):
        done = subprocess.run([*command, *map(str, group)], capture_output=True, text=True)
        return done.stdout + done.stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(run, groups):
            yield from text.splitlines()


def check_layout(source, paths):
    command = [CLANG_FORMAT, "--dry-run", "--Werror", "--ferror-limit=1"]
    for line in run_in_groups(command, paths, 40):
        match = re.match(r"(\S+?):(\d+):\d+: error", line)
        if match:
            name = os.path.relpath(match[1], source)
            yield f"{name}:{match[2]}: layout differs from {CLANG_FORMAT}"


def check_clang_tidy(source, build, paths):
    command = [CLANG_TIDY, "--quiet", "-p", str(build)]
    found = set()
    for line in run_in_groups(command, [p for p in paths if p.suffix == ".c"], 4):
        match = re.match(r"(\S+?):(\d+):\d+: (?:error|warning): (.*?)(?:,-warnings-as-errors)?\]?$", line)
        if match:
            found.add(f"{os.path.relpath(match[1], source)}:{match[2]}: {match[3]}]")
    yield from sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--clang-tidy", action="store_true", help="run clang-tidy too")
    parser.add_argument("--build", type=pathlib.Path, help="a build folder, for clang-tidy")
    options = parser.parse_args()
    source = options.source
    banned = list(banned_names(source))
    findings = []
    c_files = []
    for path in text_files(source):
        text = path.read_text()
        found = list(check_text(path, text))
        if path.suffix in (".c", ".h"):
            c_files.append(path)
            found += check_c_file(source, path, text, banned)
        findings += [f"{path.relative_to(source)}:{n}: {what}" for n, what in sorted(found)]
    findings += check_layout(source, c_files)
    findings += check_unit_tests(source)
    if options.clang_tidy:
        in_src = [path for path in c_files if path.is_relative_to(source / "src")]
        findings += check_clang_tidy(source, options.build, in_src)
    print("\n".join(findings) if findings else "tidy: no findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
