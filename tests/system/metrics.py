"""The HTTP port of a broker: getting pages, and reading Prometheus text as strictly as Prometheus does."""

import http.client
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SERIES = re.compile(r"(%s)(?:\{(%s(?:,%s)*)\})? (\S+)" % (NAME, LABEL, LABEL))
KINDS = ("counter", "gauge", "histogram")


def get(port, path, method="GET"):
    """(status, headers in lower case, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def number(text):
    value = {"+Inf": float("inf"), "-Inf": float("-inf")}.get(text)
    return float(text) if value is None else value


class SyntaxFault(Exception):
    """Text that Prometheus or its linter would not take."""


class Text:
    """One scrape: `kinds` of the families, and `values` by (name, sorted labels)."""

    def __init__(self, text):
        self.kinds, self.values = {}, {}
        self.helps = {}
        self.family = None
        if not text.endswith("\n"):
            raise SyntaxFault("no line feed at the end")
        for line in text[:-1].split("\n"):
            self.take(line)
        for name in self.kinds:
            if self.kinds[name] == "histogram":
                self.check_histogram(name)

    def take(self, line):
        head = re.fullmatch(r"# (HELP|TYPE) (%s) (.+)" % NAME, line)
        if head is None:
            self.take_series(line)
        elif head[1] == "HELP":
            self.start(head[2], head[3])
        elif head[2] != self.family or head[2] in self.kinds or head[3] not in KINDS:
            raise SyntaxFault(line)
        else:
            self.kinds[head[2]] = head[3]

    def start(self, name, text):
        if name in self.helps:
            raise SyntaxFault("the family %s comes twice" % name)
        if not text.endswith("."):
            raise SyntaxFault("the help of %s is no sentence" % name)
        self.family, self.helps[name] = name, text

    def take_series(self, line):
        match = SERIES.fullmatch(line)
        if match is None:
            raise SyntaxFault(line)
        name, labels = match[1], tuple(sorted(re.findall(LABEL, match[2] or "")))
        if len({key for key, _ in labels}) != len(labels):
            raise SyntaxFault("a label twice: " + line)
        base = name if name in self.kinds else re.sub("_(bucket|sum|count)$", "", name)
        if base != self.family or base not in self.kinds:
            raise SyntaxFault("outside its family: " + line)
        kind = self.kinds[base]
        if (kind == "counter") != name.endswith("_total") or (kind == "histogram") != (base != name):
            raise SyntaxFault("not the name of a %s: %s" % (kind, line))
        value = number(match[len(match.groups())])
        if kind != "gauge" and value < 0:
            raise SyntaxFault("a %s below 0: %s" % (kind, line))
        if (name, labels) in self.values:
            raise SyntaxFault("twice: " + line)
        self.values[name, labels] = value

    def check_histogram(self, name):
        """Buckets rise to +Inf, which is the count."""
        series = {}
        for (found, labels), value in self.values.items():
            if found == name + "_bucket":
                rest = tuple(pair for pair in labels if pair[0] != "le")
                series.setdefault(rest, []).append((number(dict(labels)["le"]), value))
        for labels, buckets in series.items():
            buckets.sort()
            values = [value for _, value in buckets]
            if values != sorted(values) or buckets[-1] != (float("inf"), self.values[name + "_count", labels]):
                raise SyntaxFault("buckets of %s %s" % (name, labels))

    def value(self, name, **labels):
        return self.values[name, tuple(sorted((key, str(text)) for key, text in labels.items()))]


def scrape(port):
    status, headers, text = get(port, "/metrics")
    assert status == 200, text
    assert headers["content-type"].startswith("text/plain; version=0.0.4"), headers
    return Text(text)
