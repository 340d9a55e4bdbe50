#!/usr/bin/env python3
"""Finds wording that tools/words.txt advises against.

  find_words.py FILE…            FILE:LINE: what was found: the advice
  find_words.py --count FILE…    how often each pattern is found
  find_words.py --message FILE   FILE (- is standard input) as one text, such as the message of a commit

In C only comments, string literals and identifiers count; other files are text from end to end. A phrase is found
across the ends of lines, but not across paragraphs. An identifier is reported once a file.
"""
import bisect
import collections
import os
import re
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.txt")
# A comment, a string, a character, a word, or anything else.
TOKENS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|[A-Za-z_]\w*|\s+|.", re.S)

Rule = collections.namedtuple("Rule", "kind pattern source advice allowed")


def read_rules():
    rules, kind = [], None
    for number, line in enumerate(open(LIST, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        if line in ("[text]", "[names]"):
            kind = line[1:-1]
            continue
        fields = re.split(r"\t+", line)
        if kind is None or len(fields) not in (2, 3):
            sys.exit("tools/words.txt:%d: not PATTERN, tab, ADVICE, and perhaps tab, FILES" % number)
        source = fields[0]
        wrapped = r"(?:^|_)(?:%s)(?:_|$)" % source if kind == "names" else source
        allowed = re.compile(fields[2]) if len(fields) == 3 else None
        rules.append(Rule(kind, re.compile(wrapped, re.I), source, fields[1], allowed))
    return rules


class Text:
    """Words with one blank between them; the end of a paragraph is a word that no pattern has."""

    def __init__(self):
        self.parts, self.starts, self.lines, self.size = [], [], [], 0

    def add(self, text, line):
        for number, row in enumerate(text.split("\n")):
            row = re.sub(r"^\s*(?:\*(?!\*)|#+|//+|>)?\s*", "", row) if number else row
            words = row.split()
            for word in words or ["\0"]:
                self.starts.append(self.size)
                self.lines.append(line + number)
                self.parts.append(word)
                self.size += len(word) + 1
        self.end(line)

    def end(self, line):
        self.starts.append(self.size)
        self.lines.append(line)
        self.parts.append("\0")
        self.size += 2

    def find(self, pattern):
        for found in pattern.finditer(" ".join(self.parts)):
            yield self.lines[bisect.bisect_right(self.starts, found.start()) - 1], found.group()


def read_c(source):
    """The comments and strings of C as text, and its identifiers with the lines they are first in."""
    text, names, line, quoted = Text(), {}, 1, []

    def end_of_string():
        if quoted:  # "one " "string"
            text.add("".join(piece for piece, _ in quoted), quoted[0][1])
            quoted.clear()

    for token in TOKENS.findall(source):
        if token.startswith(("/*", "//")):
            end_of_string()
            text.add(re.sub(r"^/[*/]+|\*/$", "", token), line)
        elif token[0] == '"':
            quoted.append((token[1:-1].replace("\\n", " ").replace('\\"', '"'), line))
        elif not token.isspace():
            if not re.match(r"PRI\w+", token):  # "%" PRIu64 " rows"
                end_of_string()
            if re.match(r"[A-Za-z_]", token):
                names.setdefault(token, line)
        line += token.count("\n")
    end_of_string()
    return text, names


def find(path, source, rules):
    if path.endswith((".c", ".h", ".cc", ".inc")):
        text, names = read_c(source)
    else:
        text, names = Text(), {}
        text.add(source, 1)
    for rule in rules:
        if rule.allowed and rule.allowed.search(path):
            continue
        if rule.kind == "text":
            for line, found in text.find(rule.pattern):
                yield rule, line, found
        else:
            for name, line in names.items():
                if rule.pattern.search(name):
                    yield rule, line, name


def main(arguments):
    counting = arguments[:1] == ["--count"]
    if arguments[:1] in (["--count"], ["--message"]):
        paths = arguments[1:]
    else:
        paths = arguments
    if not paths:
        sys.stderr.write(__doc__)
        return 2
    rules = read_rules()
    counts = collections.Counter()
    complaints = []
    for path in paths:
        source = sys.stdin.read() if path == "-" else open(path, encoding="utf-8", errors="replace").read()
        for rule, line, found in find("message" if arguments[0] == "--message" else path, source, rules):
            counts[rule] += 1
            complaints.append((path, line, found, rule.advice))
    if counting:
        for rule in rules:
            print("%6d  [%s] %s" % (counts[rule], rule.kind, rule.source))
        return 0
    for path, line, found, advice in sorted(complaints):
        print('%s:%d: "%s": %s' % (path, line, found, advice))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
