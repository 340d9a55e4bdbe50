#!/usr/bin/env python3
"""Cuts the power at every point of every kind of save, and reads what the disk can have then.

    tests/crash/power_test.py [--only WORD] [--sample] [--ranks] [--random N] [--seed N] [--json FILE]
    tests/crash/power_test.py --sabotage files|folders|each

Each save runs once, recorded (disk_layer.c). The model of the disk (disk_model.py: read its first lines) then gives
the trees that can be on the disk after a cut behind each call. The real command reads each of them: the old state
must be there in full or the new one, byte for byte; behind the last call, when the command has reported success, only
the new one. For `furrow serve`, what was answered must be there.

--sample reads a few trees of each save, for `make test`, and sabotages some. With --sabotage the disk does not sync
although it says so, and the test passes if every save is found to fail then: `files` and `folders` ignore all syncs
of that kind; `each` ignores one sync at a time and counts which are found. FURROW_BUILD is the folder of the
programs.
"""
import argparse
import copy
import json
import os
import random
import shutil
import sys

from disk_model import FOLDER, Disk, Folder, read_trace, read_tree, write_tree
from saves import Inputs, all_saves, digest, fresh, layer_env, learning_saves, make_work_folder, rank_saves
from served_log import served_saves

# In a sample: cuts of each save besides the one after success, trees at each, and saves on a disk that is sabotaged.
SAMPLED_CUTS, SAMPLED_TREES = 2, 1
SABOTAGED = ("model_text_replaced", "index_add", "schema_new", "serve_log")


def tree_key(tree):
    parts = sorted((path, "folder" if data is FOLDER else digest(data)) for path, data in tree.items())
    return digest(repr(parts).encode())


class Recorded:
    """A save that has run once: the disk as it was before, the events, and how trees of it are read."""

    def __init__(self, save, inputs, work):
        self.save, self.inputs = save, inputs
        self.scratch, self.memory = os.path.join(work, "scratch"), {}
        root, trace = fresh(os.path.join(work, "root")), os.path.join(work, "trace")
        if os.path.exists(trace):
            os.unlink(trace)
        save.prepare(root, inputs)
        self.start = Disk(os.path.realpath(root))
        first = read_tree(root)
        save.run(root, inputs, layer_env(root, trace))
        self.events, last = read_trace(trace), read_tree(root)
        self.check_complete(last)
        self.old, self.new = self.read(first), self.read(last)

    def check_complete(self, last):
        """What the trace gives must be what is there: the layer has missed nothing."""
        disk = copy.deepcopy(self.start)
        for event in self.events:
            disk.apply(event)
        if disk.visible() != last:
            raise AssertionError(f"{self.save.name}: the trace does not lead to the tree that is there: {self.events}")

    def read(self, tree):
        """What the real command makes of a tree; it may change the copy that it reads."""
        key = tree_key(tree)
        if key not in self.memory:
            write_tree(tree, fresh(self.scratch))
            self.memory[key] = self.save.read(self.scratch, self.inputs)
        return self.memory[key]

    def cuts(self, sabotage, skipped=None):
        """The disk after each event and what may be on it: (number of the cut, disk, right states). `skipped` is the
        number of an event that is ignored."""
        disk, answers = copy.deepcopy(self.start), 0
        disk.sabotage = sabotage
        for n in range(len(self.events) + 1):
            if n > 0 and self.events[n - 1].operation == "A":
                answers += 1
            elif n > 0 and n - 1 != skipped:
                disk.apply(self.events[n - 1])
            finished = n == len(self.events)
            yield n, disk, self.save.right_states(self.old, self.new, answers, finished)

    def syncs(self, kind=None):
        """Numbers of the syncs: of "files", of "folders", or all."""
        folders = {inode for inode, made in self.start.inodes.items() if isinstance(made, Folder)}
        found = []
        for n, event in enumerate(self.events):
            if event.operation == "M":
                folders.add(event.inode)
            elif event.operation == "C":
                folders.discard(event.inode)
            elif event.operation == "S" and kind in (None, "folders" if event.inode in folders else "files"):
                found.append(n)
        return found


class Checker:
    """Reads trees, counts, and says what is wrong."""

    def __init__(self, options):
        self.options = options
        self.counts = {"runs": 0, "cuts": 0, "states": 0, "failures": 0}

    def trees(self, recorded, sabotage, skipped=None, chosen=None):
        """All different (number of the cut, tree, right states) of a save; with `chosen`, of some cuts."""
        draw, seen = random.Random(self.options.seed), set()
        for n, disk, right in recorded.cuts(sabotage, skipped):
            if chosen is not None and n not in chosen:
                continue
            allowed = tuple(sorted(map(repr, right))) if isinstance(right, set) else n == len(recorded.events)
            for tree in disk.states(draw, self.options.random):
                key = tree_key(tree), allowed
                if key not in seen:
                    seen.add(key)
                    yield n, tree, right

    def find_wrong(self, recorded, sabotage, skipped=None):
        """The first tree that is wrong, if there is one: (cut, tree, state)."""
        for n, tree, right in self.trees(recorded, sabotage, skipped):
            state = recorded.read(tree)
            if state not in right:
                return n, tree, state
        return None

    def sample(self, recorded):
        """Some trees of some cuts, and of the one after success."""
        draw, end = random.Random(self.options.seed), len(recorded.events)
        chosen = {end, *draw.sample(range(end), min(SAMPLED_CUTS, end))}
        found = list(self.trees(recorded, (), chosen=chosen))
        groups = [[item for item in found if item[0] == n] for n in sorted(chosen)]
        return [item for group in groups for item in draw.sample(group, min(SAMPLED_TREES, len(group)))]

    def check(self, recorded):
        """Reads the trees of a save."""
        found = self.sample(recorded) if self.options.sample else list(self.trees(recorded, ()))
        most = getattr(recorded.save, "most", len(found))
        if len(found) > most:  # all of those after success, and some of the others
            found = random.Random(self.options.seed).sample(found, len(found))
            found = sorted(found, key=lambda item: item[0] < len(recorded.events))[:most]
        wrong = [(n, tree, state) for n, tree, right in found if (state := recorded.read(tree)) not in right]
        cuts = len({n for n, _, _ in found}) if self.options.sample else len(recorded.events) + 1
        for key, more in (("runs", 1), ("cuts", cuts), ("states", len(found)), ("failures", len(wrong))):
            self.counts[key] += more
        verdict = "FAILED" if wrong else "ok    "
        print(f"{verdict} {recorded.save.name}: {cuts} cuts, {len(found)} states", flush=True)
        for n, tree, state in wrong[:3]:
            self.explain(recorded, n, tree, state)
        if self.options.sample and recorded.save.name in SABOTAGED:
            self.sabotage_all(recorded, "files")
            self.sabotage_all(recorded, "folders")

    def explain(self, recorded, n, tree, state):
        print(f"  after call {n} of {len(recorded.events)}, of which the last ones are")
        for event in recorded.events[max(0, n - 6):n]:
            print(f"    {event}")
        print("  the disk can have")
        for path in sorted(tree):
            print(f"    {path}{'/' if tree[path] is FOLDER else f': {len(tree[path])} bytes'}")
        print(f"  which is neither the old state nor the new one: {str(state)[:600]}", flush=True)

    def sabotage_all(self, recorded, kind):
        """All syncs of a kind are ignored: that must be found, unless there are none of them."""
        if not recorded.syncs(kind):
            return
        found = self.find_wrong(recorded, (kind,))
        self.counts["runs"] += 1
        self.counts["sabotaged"] = self.counts.get("sabotaged", 0) + 1
        self.counts["failures"] += not found
        print(f"{'found ' if found else 'MISSED'} {recorded.save.name} without syncs of {kind}", flush=True)

    def sabotage_each(self, recorded):
        syncs = recorded.syncs()
        found = [n for n in syncs if self.find_wrong(recorded, (), n)]
        self.counts["runs"] += 1
        self.counts["syncs"] = self.counts.get("syncs", 0) + len(syncs)
        self.counts["syncs_found"] = self.counts.get("syncs_found", 0) + len(found)
        missed = [n for n in syncs if n not in found]
        print(f"{recorded.save.name}: {len(found)} of {len(syncs)} syncs that are left out are found; not found: "
              f"{missed}", flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="saves whose names have this in them")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--random", type=int, default=8, help="random trees for each cut, besides the fixed ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", action="store_true", help="also saves of two processes under mpirun")
    parser.add_argument("--sabotage", choices=["files", "folders", "each"])
    parser.add_argument("--json", help="file to append the counts to")
    return parser.parse_args()


def main():
    options = read_options()
    checker, work = Checker(options), make_work_folder()
    try:
        inputs = Inputs(os.path.join(work, "inputs"), options.seed)
        found = all_saves() + learning_saves() + served_saves() + (rank_saves() if options.ranks and options.sabotage != "each" else [])
        for save in [s for s in found if options.only in s.name]:
            recorded = Recorded(save, inputs, work)
            if options.sabotage == "each":
                checker.sabotage_each(recorded)
            elif options.sabotage:
                checker.sabotage_all(recorded, options.sabotage)
            else:
                checker.check(recorded)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    line = json.dumps({"test": "power", "sabotage": options.sabotage, "seed": options.seed, **checker.counts})
    print(line)
    if options.json:
        with open(options.json, "a") as file:
            file.write(line + "\n")
    return 1 if checker.counts["failures"] or not checker.counts["runs"] else 0


if __name__ == "__main__":
    sys.exit(main())
