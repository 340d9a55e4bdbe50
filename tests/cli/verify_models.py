#!/usr/bin/env python3
"""Models with one change in any file: furrow model verify passes those that predict loads, and no others.

    tests/cli/verify_models.py FURROW [--runs N] [--seed N]

What verify passes, predict must load and score; what verify calls an error, predict must refuse. The one exception
on this side is a score that is not finite: weights that are finite may have infinite sums, and that depends on the row.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

WORDS = [b"0", b"1", b"2", b"5", b"12", b"13", b"100", b"-1", b"1e30", b"nan", b"inf", b"99999999999"]


def make_data():
    draw = random.Random(7)
    with open("rows.libsvm", "w") as rows, open("log.csv", "w") as log:
        log.write("y,a,b,c\n")
        for i in range(200):
            label = draw.randrange(2)
            columns = sorted(draw.sample(range(12), 5))
            rows.write(f"{label} " + " ".join(f"{c}:{draw.random() + label * (c < 3):.3f}" for c in columns) + "\n")
            log.write(f"{label},{draw.choice('xyz')},{draw.random() + label:.3f},{draw.randrange(6)}\n")


def make_models(furrow):
    """Returns pairs of a model and data that it scores."""
    settings = {"lr": [], "softmax": [], "fm": ["-D", "ml.epoch.num=2"], "gbdt": ["--trees", "3", "--depth", "3"],
                "deepfm": ["-D", "ml.epoch.num=2", "--fc", "4,2"]}
    models = []
    for name, options in settings.items():
        furrow("train", "--model", name, "--train", "rows.libsvm", "--out", name, "-q", *options, check=True)
        models.append((name, "rows.libsvm"))
    furrow("train", "--model", "lr", "--train", "log.csv", "--schema", "auto", "--label", "y", "--out", "raw", "-q",
           check=True)
    return models + [("raw", "log.csv")]


def flip_bit(data, draw):
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1:]


def set_character(data, draw):
    at = draw.randrange(len(data))
    return data[:at] + bytes([draw.choice(b'0123456789-.,: "nN')]) + data[at + 1:]


def cut(data, draw):
    return data[:draw.randrange(len(data))]


def insert(data, draw):
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice([b"0", b"9", b"-", b"\n", b"\0\0\0\0"]) + data[at:]


def replace_match(data, draw, pattern, words):
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    match = draw.choice(found)
    return data[:match.start()] + draw.choice(words) + data[match.end():]


def replace_number(data, draw):
    return replace_match(data, draw, rb"-?\d+(\.\d+)?", WORDS)


def replace_string(data, draw):
    strings = re.findall(rb'"\w+"', data)
    return replace_match(data, draw, rb'"\w+"', strings + [b'"xyz"', b"null"])


def repeat_line(data, draw):
    lines = data.split(b"\n")
    lines[draw.randrange(len(lines))] = draw.choice(lines)
    return b"\n".join(lines)


def drop_line(data, draw):
    lines = data.split(b"\n")
    del lines[draw.randrange(len(lines))]
    return b"\n".join(lines)


CHANGES = [flip_bit, set_character, cut, insert, replace_number, replace_string, repeat_line, drop_line]

# Faults that verify and predict once took differently: the model, the file, and what changes in it.
KNOWN = [
    ("lr", "furrow.json", lambda data: data.replace(b'"algorithm" : "lr"', b'"algorithm" : "xyz"')),
    ("lr", "input_weight/0", lambda data: data + b"\n"),
    ("softmax", "input_weight/_meta", lambda data: data.replace(b'"endCol":12', b'"endCol":11')),
    ("lr", "input_weight/0", lambda data: re.sub(rb"(?m)^3,.*$", b"3,nan", data)),
    ("lr", "graph.json", lambda data: data.replace(b'"indexrange" : -1', b'"indexrange" : 5')),
]


class Checker:
    def __init__(self, furrow):
        self.furrow = furrow
        self.passed = self.refused = 0

    def check(self, model, data, file, change, what):
        """Changes a copy of the model; False if the change changes nothing."""
        shutil.rmtree("changed", ignore_errors=True)
        shutil.copytree(model, "changed")
        with open(f"changed/{file}", "rb") as old:
            before = old.read()
        after = change(before) if before else before
        if after == before:
            return False
        with open(f"changed/{file}", "wb") as new:
            new.write(after)
        verify = self.furrow("model", "verify", "changed")
        predict = self.furrow("predict", "--model", "changed", "--data", data)
        not_finite = "the score is infinite or not a number" in predict.stderr
        if (verify.returncode == 0) != (predict.returncode == 0 or not_finite) or verify.returncode < 0:
            sys.exit(f"{model}/{file}, {what}:\nmodel verify: exit {verify.returncode}\n{verify.stdout}{verify.stderr}"
                     f"predict: exit {predict.returncode}\n{predict.stderr}")
        self.passed += verify.returncode == 0
        self.refused += verify.returncode != 0
        return True


def list_files(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("furrow")
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    program = os.path.abspath(args.furrow)

    def furrow(*words, check=False):
        return subprocess.run([program, *words], capture_output=True, text=True, errors="replace", check=check)

    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        make_data()
        models = make_models(furrow)
        checker = Checker(furrow)
        for model, file, change in KNOWN:
            if not checker.check(model, dict(models)[model], file, change, "a known fault"):
                sys.exit(f"{model}/{file}: the known fault changes nothing")
        if checker.passed:
            sys.exit("verify passes a known fault")
        draw = random.Random(args.seed)
        done = 0
        while done < args.runs:
            model, data = draw.choice(models)
            file, change = draw.choice(list_files(model)), draw.choice(CHANGES)
            done += checker.check(model, data, file, lambda old: change(old, draw), f"{change.__name__}, run {done}")
        os.chdir("..")
    print(f"{checker.passed} passed by both, {checker.refused} refused by both")
    if not checker.passed or not checker.refused:
        sys.exit("the changes are all of one kind")


main()
