#!/usr/bin/env python3
"""Holds the table of lines of trouble in docs/operations.md to the messages of the server, both ways.

A row's first cell is lines in backquotes, separated by commas. In a line words of capitals (N, T-N, HOST:PORT, CLASS_B)
stand for what differs and "..." for anything. Each must be found in a message of src/; and each warning or error that
the server can log must be covered by a row. A message is the format of a call with its constant arguments put in.

What is logged is followed from the call that logs it: through ?:, through the errmsg or the allocated text that the
function formatted before, and through a parameter to the callers. What ends elsewhere is a finding, unless RELAYED names
its function with the reason. What a start finds wrong in the configuration is told with file and line, and no part of
this check. One line a finding, exit status 1 if any.
"""
import argparse
import itertools
import pathlib
import re
import sys

# Server code: what the commands of an operator print is on their own terminal.
FOLDERS = ("base", "env", "model", "plog", "metastore", "net", "replica", "control", "moves", "http", "broker", "cmd")
# Function: the argument that becomes a line, the one that says whether it is one of trouble, and how it says so.
LOGS = {
    "controller_log": (2, 1, r"CONTROL_WARNING"),
    "control_log_add": (2, 1, r"CONTROL_WARNING"),
    "SAY": (2, 1, r"^(WARN|ERROR)$"),
    "tell": (1, 1, r"^BROKER_LOG_WARNING"),
    "xasprintf": (0, 0, r"^BROKER_LOG_WARNING"),
    "on_trouble": (1, 1, r""),
}
# Functions that log what others made, with the place where those are held to the table.
RELAYED = {
    "src/broker/controller/controller.c:effect_perform": "what control/ logs",
    "src/broker/controller/moves.c:controller_moves_step": "what moves/ logs",
    "src/broker/broker.c:settings_take": "what model/ says of a key",
    "src/cmd/server_host.c:on_trouble": "what metastore/ says of ZooKeeper",
    "src/cmd/server_host.c:on_broker_log": "what the broker logs",
}
HEADING = "## What the log says"
ANY = "\x01"  # where a message has a value
PLACE = "%s*" % ANY
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.[0-9a-f]*)\'')
WORD = re.compile(r"\b[A-Za-z_]\w*")
CONVERSION = re.compile(r"%(?:%|[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j)?[a-zA-Z])")
CAPITALS = re.compile(r"\b[A-Z][A-Z_]*\b")


# ---- C ----

def without_comments(text):
    """The same length, so that places stay."""
    def blank(match):
        return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])
    return re.sub(QUOTED.pattern + r"|/\*.*?\*/", blank, text, flags=re.S)


def symbols(text, start=0):
    """(place, character) of what is neither in a string nor a character constant."""
    at = start
    while at < len(text):
        quoted = QUOTED.match(text, at)
        if quoted:
            at = quoted.end()
        else:
            yield at, text[at]
            at += 1


def closing(text, start):
    """Where the bracket that opens at start closes."""
    depth = 0
    for at, c in symbols(text, start):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0:
            return at
    return len(text)


def arguments(text, start):
    """The arguments of the call whose bracket opens at start."""
    found, begin, depth = [], start + 1, 0
    for at, c in symbols(text, start):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 or (depth == 1 and c == ","):
            found.append(text[begin:at].strip())
            begin = at + 1
        if depth == 0:
            break
    return found


def branches(expression):
    """a ? b : c as [b, c]; else the expression alone."""
    depth, question = 0, None
    for at, c in symbols(expression):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and c == "?" and question is None:
            question = at
        elif depth == 0 and c == ":" and question is not None:
            return branches(expression[question + 1:at].strip()) + branches(expression[at + 1:].strip())
    return [expression.strip()]


class Function:
    def __init__(self, path, name, parameters, body, is_static):
        self.path, self.name, self.parameters, self.body, self.is_static = path, name, parameters, body, is_static
        self.known_calls = None

    def __str__(self):
        return "%s:%s" % (self.path, self.name)

    def calls(self):
        """(name, arguments, place) of every call in it."""
        if self.known_calls is None:
            self.known_calls = [(match[1], arguments(self.body, match.end() - 1), match.start())
                                for match in re.finditer(r"\b([A-Za-z_]\w*)\(", self.body)]
        return self.known_calls


class Sources:
    def __init__(self, root):
        self.macros, self.functions, self.texts = {}, [], []
        self.calls, self.callers_known = {}, {}
        files = [path for folder in FOLDERS for path in sorted((root / "src" / folder).rglob("*.[ch]"))]
        for path in files:
            text = without_comments(path.read_text(encoding="utf-8"))
            for match in re.finditer(r"^#define (\w+)[ \t]+((?:\\\n|[^\n])*)$", text, re.M):
                if '"' in match[2]:
                    self.macros[match[1]] = match[2].replace("\\\n", " ").strip()
            if path.suffix == ".c":
                self.take(str(path.relative_to(root)), text)
        for function in self.functions:
            for callee, values, place in function.calls():
                self.calls.setdefault(callee, []).append((function, values, place))

    def take(self, path, text):
        for match in re.finditer(r"^(\w[^;{}#]*?)\b(\w+)\(([^;{}]*)\)\n\{\n(.*?)^\}", text, re.M | re.S):
            parameters = [(WORD.findall(p) or [""])[-1] for p in arguments("(" + match[3] + ")", 0)]
            self.functions.append(Function(path, match[2], parameters, match[4],
                                           match[1].startswith("static ")))
        self.texts.append(text)

    def constant(self, expression):
        """The text of literals and macros side by side; None when it is anything else."""
        text, at = "", 0
        while at < len(expression):
            string = STRING.match(expression, at)
            word = WORD.match(expression, at)
            if string:
                text += string[1].replace('\\"', '"').replace("\\\\", "\\")
                at = string.end()
            elif word and word[0] in self.macros:
                inner = self.constant(self.macros[word[0]])
                if inner is None:
                    return None
                text += inner
                at = word.end()
            elif expression[at].isspace():
                at += 1
            elif word and word[0].startswith("PRI"):
                text += "d"
                at = word.end()
            else:
                return None
        return text

    def callers(self, function):
        """(function, arguments, place) of the calls of it."""
        if function not in self.callers_known:
            self.callers_known[function] = [
                (caller, values, place) for caller, values, place in self.calls.get(function.name, ())
                if caller is not function and (caller.path == function.path or not function.is_static)]
        return self.callers_known[function]

    def can_be(self, expression, function, passed):
        """What it can be; None among them when it can be what is not constant. passed: by the caller."""
        found = []
        for branch in branches(expression):
            constant = self.constant(branch) if branch else None
            index = function.parameters.index(branch) if function is not None and branch in function.parameters else -1
            if constant is None and 0 <= index < len(passed):
                found += [self.constant(text) for text in branches(passed[index])]
            else:
                found.append(constant)
        return found

    def messages(self, format_text, values, function):
        """The format with constants, also of callers, in place of its conversions as far as they are."""
        names = {branch for value in values for branch in branches(value)}
        calls = [passed for _, passed, _ in self.callers(function)] if function and names & set(function.parameters) else []
        found = set()
        for passed in calls or [[]]:
            parts, at, index = [[""]], 0, 0
            for match in CONVERSION.finditer(format_text):
                parts.append([format_text[at:match.start()]])
                at = match.end()
                if match[0] == "%%":
                    parts.append(["%"])
                    continue
                index += match[0].count("*")
                value = values[index] if index < len(values) else ""
                index += 1
                parts.append([ANY if text is None else text for text in self.can_be(value, function, passed)])
            parts.append([format_text[at:]])
            found.update("".join(combination) for combination in itertools.product(*parts))
        return found

    def all_messages(self):
        """Of every call with a literal among its arguments, and of every literal."""
        found = set()
        for function in self.functions:
            for _, values, _ in function.calls():
                for i, value in enumerate(values):
                    for branch in branches(value):
                        constant = self.constant(branch) if '"' in branch else None
                        if constant is not None:
                            found.update(self.messages(constant, values[i + 1:], function))
        for text in self.texts:
            for match in STRING.finditer(text):
                found.update(self.messages(match[1], [], None))
        return found


# ---- what is logged ----

def made_before(function, name, place):
    """(format, values) of all that the function puts into the errmsg or text called name before place."""
    for callee, values, at in function.calls():
        if at >= place:
            break
        if callee == "errmsg_set" and len(values) > 2 and re.fullmatch(r"&?%s" % re.escape(name), values[0]):
            yield values[2], values[3:]
        if callee == "xasprintf" and re.search(r"\b%s\s*=\s*$" % re.escape(name), function.body[:at]):
            yield values[0], values[1:]


def logged(sources, function, expression, values, place, seen=()):
    """Messages of the expression, or None for one that cannot be followed, with the function it ends in."""
    for branch in branches(expression):
        constant = sources.constant(branch)
        name = re.sub(r"(\.|->)text$", "", branch)
        if constant is not None and constant != "%s":
            for message in sources.messages(constant, values, function):
                yield message, function
            continue
        if constant == "%s" and values:
            yield from logged(sources, function, values[0], values[1:], place, seen)
            continue
        made = list(made_before(function, name, place))
        for made_format, made_values in made:
            yield from logged(sources, function, made_format, made_values, place, seen)
        if made:
            continue
        if name in function.parameters and function.name not in seen:
            yield from from_callers(sources, function, function.parameters.index(name), seen + (function.name,))
        else:
            yield None, function


def from_callers(sources, function, index, seen):
    callers = [(caller, values, place) for caller, values, place in sources.callers(function) if index < len(values)]
    for caller, values, place in callers:
        yield from logged(sources, caller, values[index], values[index + 1:], place, seen)
    if not callers:
        yield None, function


def warnings(sources):
    """(message or None, function) of everything that is logged as trouble."""
    for function in sources.functions:
        if function.name in LOGS:
            continue
        for callee, values, place in function.calls():
            index, level, pattern = LOGS.get(callee, (None, None, None))
            if index is None or index >= len(values):
                continue
            if re.search(pattern, values[level]):
                yield from logged(sources, function, values[index], values[index + 1:], place)


# ---- the table ----

def table(source):
    """(number of the line, first cell) of the rows."""
    lines = (source / "docs/operations.md").read_text(encoding="utf-8").splitlines()
    begin = lines.index(HEADING) if HEADING in lines else len(lines)
    for number, line in enumerate(lines[begin:], begin + 1):
        if line.startswith("| ") and not line.startswith("| Line says"):
            yield number, re.split(r"(?<!\\) \|", line[2:], maxsplit=1)[0]


def pattern_of(line):
    """Capitals are a value of the message; "..." is anything."""
    parts = re.split(r"(\.\.\.|\b[A-Z][A-Z_]*\b)", line)
    return re.compile("".join(
        ".*" if part == "..." else r"[^ ]*?%s[^ ]*?" % ANY if CAPITALS.fullmatch(part) else re.escape(part)
        for part in parts if part), re.S)


def check(source):
    """Findings, one text each."""
    sources = Sources(source)
    messages = sorted(sources.all_messages())
    patterns = []
    for number, cell in table(source):
        lines = re.findall(r"`([^`]+)`", cell)
        if not lines or re.sub(r"`[^`]+`", "", cell).strip(" ,"):
            yield "docs/operations.md:%d: the first cell must be `LINE`, `LINE`, ..." % number
        for line in lines:
            pattern = pattern_of(line)
            patterns.append(pattern)
            if not any(pattern.search(message) for message in messages):
                yield "docs/operations.md:%d: no message in src/ says `%s`" % (number, line)
    told = set()
    for message, function in warnings(sources):
        if message is None:
            if str(function) not in RELAYED:
                told.add("%s logs what cannot be followed to its text" % function)
        elif not any(pattern.search(message) for pattern in patterns):
            told.add("%s logs \"%s\", which has no row in docs/operations.md" % (function, message.replace(ANY, "_")))
    yield from sorted(told)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    findings = list(check(parser.parse_args().source))
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
