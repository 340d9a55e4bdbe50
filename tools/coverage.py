#!/usr/bin/env python3
"""tools/coverage.py BUILD [--list [PATH ...]] [--json FILE] [--lines PERCENT] [--branches PERCENT]

Lines and branches of src/ that the tests reached, from the counts of a build by `make coverage` (gcc --coverage): the
total, each folder, and the files that miss something, those that miss most first.

  --list       instead, what is missing: FILE:LINE, "never" for a line that did not run, or which of its branches were
               not taken, and the source. PATH: only files whose path has this in it
  --json       writes the figures to FILE
  --lines, --branches   exit with 1 if a percentage of the total is below this

What counts: every file in src/ that this machine compiles, kernels of all its instruction sets among them. A line or
branch is what gcov makes of unoptimised code without assertions: both sides of every operand of && and ||, every loop,
every label of a switch. A source that is compiled several times (a template, a header, a net in floats and doubles) counts
once; a branch is taken if any of its copies was.

What no test can reach carries a comment with the reason, on its line or alone on the line above:

    if (count > SIZE_MAX / 8) return FURROW_E_LIMIT; /* not covered: no file is that long */

If the line opens a block, the comment is for all of the block. These count as missing like any other; the last line of
the report says how many they are, and --list shows their reasons."""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BATCH = 16
MARK = re.compile(r'/\*\s*not covered:\s*(.*?)\s*\*/')


class Source:
    """Counts of one file, merged over everything that compiled it."""

    def __init__(self):
        self.lines = {}     # number: times it ran
        self.branches = {}  # (number, branches of the line in this copy): times each was taken

    def add(self, line):
        number = line['line_number']
        self.lines[number] = self.lines.get(number, 0) + line['count']
        taken = [branch['count'] for branch in line['branches']]
        if taken:
            key = number, len(taken)
            self.branches[key] = [a + b for a, b in zip(self.branches.get(key, [0] * len(taken)), taken)]

    def missing(self):
        """{line: (ran, [branches not taken], branches)} of lines that miss something."""
        found = {}
        for number, count in self.lines.items():
            if count == 0:
                found[number] = False, [], 0
        for (number, width), taken in self.branches.items():
            gaps = [i for i, count in enumerate(taken) if count == 0]
            if gaps:
                found[number] = self.lines[number] > 0, gaps, width
        return found

    def figures(self):
        taken = [count for counts in self.branches.values() for count in counts]
        return Figures(len(self.lines), sum(c > 0 for c in self.lines.values()), len(taken), sum(c > 0 for c in taken))


class Figures(collections.namedtuple('Figures', 'lines lines_run branches branches_taken')):
    def __add__(self, other):
        return Figures(*(a + b for a, b in zip(self, other)))

    def missing(self):
        return self.lines - self.lines_run + self.branches - self.branches_taken

    def percent(self):
        return share(self.lines_run, self.lines), share(self.branches_taken, self.branches)

    def row(self):
        lines, branches = self.percent()
        return (f'{lines:7.2f} %{self.lines_run:8d} /{self.lines:7d}'
                f'{branches:9.2f} %{self.branches_taken:8d} /{self.branches:7d}')

    def as_dict(self):
        lines, branches = self.percent()
        return dict(self._asdict(), lines_percent=round(lines, 2), branches_percent=round(branches, 2))


def share(part, whole):
    return 100.0 * part / whole if whole else 100.0


def notes_of(build):
    """What the compiler wrote next to each object: the blocks and branches of its code."""
    return [os.path.join(folder, name) for folder, _, names in sorted(os.walk(build))
            for name in sorted(names) if name.endswith('.gcno')]


def read_batch(notes):
    """{path: Source} of the files in src/ that a few objects were compiled from."""
    run = subprocess.run(['gcov', '-b', '-j', '-t', *notes], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    sources = {}
    for text in run.stdout.splitlines():
        if text.strip():
            collect(json.loads(text), sources)
    return sources


def collect(report, sources):
    for file in report['files']:
        path = os.path.relpath(os.path.join(report['current_working_directory'], file['file']), ROOT)
        if path.startswith('src' + os.sep):
            source = sources.setdefault(path, Source())
            for line in file['lines']:
                source.add(line)


def merge(whole, part):
    for path, source in part.items():
        into = whole.setdefault(path, Source())
        for number, count in source.lines.items():
            into.lines[number] = into.lines.get(number, 0) + count
        for key, taken in source.branches.items():
            into.branches[key] = [a + b for a, b in zip(into.branches.get(key, [0] * key[1]), taken)]


def read_counts(build):
    notes = notes_of(build)
    batches = [notes[i:i + BATCH] for i in range(0, len(notes), BATCH)]
    sources = {}
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for part in pool.map(read_batch, batches):
            merge(sources, part)
    return sources


def read_text(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read().split('\n')


def marks(text):
    """{line: reason} of lines that a comment calls out of reach."""
    found = {}
    for i, line in enumerate(text):
        mark = MARK.search(line)
        if not mark:
            continue
        first = i + 1 if line.strip().startswith('/*') else i
        for number in block(text, first):
            found[number + 1] = mark.group(1)
    return found


def block(text, first):
    """Lines of the statement at `first`: more than one if it opens a block."""
    code = MARK.sub('', text[first]).rstrip()
    if not code.endswith('{'):
        return [first]
    indent = code[:len(code) - len(code.lstrip())]
    last = first + 1
    while not text[last].startswith(indent + '}'):
        last += 1
    return range(first, last + 1)


def show_totals(sources):
    folders, files, total = {}, {}, Figures(0, 0, 0, 0)
    marked = Figures(0, 0, 0, 0)
    for path, source in sources.items():
        files[path] = source.figures()
        folder = os.path.dirname(path)
        folders[folder] = folders.get(folder, Figures(0, 0, 0, 0)) + files[path]
        total += files[path]
        marked += marked_figures(path, source)
    head = f'{"":44}{"lines":>9}{"":17}{"branches":>11}'
    print(head)
    print(f'{"src":44}{total.row()}')
    for folder in sorted(folders):
        print(f'{folder:44}{folders[folder].row()}')
    print()
    for path in sorted(files, key=lambda p: (-files[p].missing(), p)):
        if files[path].missing():
            print(f'{path:44}{files[path].row()}')
    print(f'\nmissing with a reason: {marked.lines} lines, {marked.branches} branches')
    return total, folders, files, marked


def marked_figures(path, source):
    reasons = marks(read_text(path))
    gaps = [gap for number, gap in source.missing().items() if number in reasons]
    return Figures(sum(not ran for ran, _, _ in gaps), 0, sum(len(branches) for _, branches, _ in gaps), 0)


def show_missing(sources, wanted):
    for path in sorted(sources):
        if wanted and not any(part in path for part in wanted):
            continue
        text = read_text(path)
        reasons = marks(text)
        for number, (ran, gaps, width) in sorted(sources[path].missing().items()):
            what = f'{",".join(map(str, gaps))} of {width}' if ran else 'never'
            reason = f'   [{reasons[number]}]' if number in reasons else ''
            print(f'{path}:{number}: {what}: {text[number - 1].strip()}{reason}')


def write_json(path, total, folders, files, marked):
    figures = {
        'total': total.as_dict(),
        'missing_with_a_reason': {'lines': marked.lines, 'branches': marked.branches},
        'folders': {name: folders[name].as_dict() for name in sorted(folders)},
        'files': {name: files[name].as_dict() for name in sorted(files)},
    }
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(figures, file, indent=1)
        file.write('\n')


def main():
    parser = argparse.ArgumentParser(description='Lines and branches of src/ that the tests reached.')
    parser.add_argument('build')
    parser.add_argument('--list', nargs='*', metavar='PATH', dest='listed')
    parser.add_argument('--json', metavar='FILE')
    parser.add_argument('--lines', type=float, default=0.0, metavar='PERCENT')
    parser.add_argument('--branches', type=float, default=0.0, metavar='PERCENT')
    args = parser.parse_args()
    sources = read_counts(os.path.abspath(args.build))
    if not sources:
        sys.exit(f'coverage.py: {args.build} has no counts of src/: make coverage')
    if args.listed is not None:
        show_missing(sources, args.listed)
        return 0
    figures = show_totals(sources)
    if args.json:
        write_json(args.json, *figures)
    lines, branches = figures[0].percent()
    return 1 if lines < args.lines or branches < args.branches else 0


if __name__ == '__main__':
    sys.exit(main())
