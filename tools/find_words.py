#!/usr/bin/env python3
"""Finds wording that tools/words.txt advises against.

  find_words.py FILE…            FILE:LINE: what was found: the advice
  find_words.py --count FILE…    how often each pattern is found
  find_words.py --message FILE   FILE (- is standard input) as one text, such as the message of a commit

In C only comments, string literals and identifiers count; other files are text from end to end. A phrase is found
across the ends of lines, but not across paragraphs. An identifier is reported once a file. A pattern with a limit for a
folder is reported only if the files of that folder have more of it.
"""
import bisect
import collections
import os
import re
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.txt")
# A comment, a string, a character, a word, or anything else.
TOKENS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|[A-Za-z_]\w*|\s+|.", re.S)

Rule = collections.namedtuple("Rule", "kind pattern source advice allowed limits")


def read_limits(text, number):
    """"src=12 cli=3": how often a pattern may be found in the files of each folder."""
    try:
        return {folder: int(count) for folder, count in (word.split("=") for word in text.split())}
    except ValueError:
        sys.exit("tools/words.txt:%d: not FOLDER=COUNT …" % number)


def read_rules():
    rules, kind = [], None
    for number, line in enumerate(open(LIST, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        if line in ("[text]", "[names]", "[limited]"):
            kind = line[1:-1]
            continue
        fields = re.split(r"\t+", line)
        if kind is None or len(fields) not in (2, 3):
            sys.exit("tools/words.txt:%d: not PATTERN, tab, ADVICE, and perhaps tab, FILES or LIMITS" % number)
        source = fields[0]
        wrapped = r"(?:^|_)(?:%s)(?:_|$)" % source if kind == "names" else source
        allowed, limits = None, {}
        if len(fields) == 3 and kind == "limited":
            limits = read_limits(fields[2], number)
        elif len(fields) == 3:
            allowed = re.compile(fields[2])
        rules.append(Rule(kind, re.compile(wrapped, re.I), source, fields[1], allowed, limits))
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
        if rule.kind != "names":
            for line, found in text.find(rule.pattern):
                yield rule, line, found
        else:
            for name, line in names.items():
                if rule.pattern.search(name):
                    yield rule, line, name


def key_of(rule):
    return rule.kind, rule.source


def folder_of(path):
    """The folder that a limit is for: the first of the path, "." for a file of the root."""
    return path.split("/")[0] if "/" in path else "."


def print_counts(rules, counts):
    """How often each pattern is found; for one with limits, in each folder, and how often it may be."""
    for rule in rules:
        folders = counts[key_of(rule)]
        print("%6d  [%s] %s" % (sum(folders.values()), rule.kind, rule.source))
        for folder in sorted(set(folders) | set(rule.limits)) if rule.kind == "limited" else []:
            print("          %s=%d of %d" % (folder, folders.get(folder, 0), rule.limits.get(folder, 0)))


def main(arguments):
    option = arguments[0] if arguments[:1] in (["--count"], ["--message"]) else None
    paths = arguments[1:] if option else arguments
    if not paths:
        sys.stderr.write(__doc__)
        return 2
    rules = read_rules()
    counts = collections.defaultdict(collections.Counter)  # of a rule, for each folder
    found = []
    for path in paths:
        source = sys.stdin.read() if path == "-" else open(path, encoding="utf-8", errors="replace").read()
        for rule, line, text in find("message" if option == "--message" else path, source, rules):
            counts[key_of(rule)][folder_of(path)] += 1
            found.append((path, line, text, rule))
    if option == "--count":
        print_counts(rules, counts)
        return 0
    complaints = []
    for path, line, text, rule in found:
        folder = folder_of(path)
        count, limit = counts[key_of(rule)][folder], rule.limits.get(folder, 0)
        if option == "--message" or not limit:
            complaints.append((path, line, text, rule.advice))
        elif count > limit:
            complaints.append((path, line, text, "%s (%d in %s, at most %d)" % (rule.advice, count, folder, limit)))
    for path, line, text, advice in sorted(complaints):
        print('%s:%d: "%s": %s' % (path, line, text, advice))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
