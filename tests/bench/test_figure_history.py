#!/usr/bin/env python3
"""What is reported of two entries of the history of figures, and what the table of results makes of a run."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "bench")
sys.path.insert(0, BENCH)
import figure_history  # noqa: E402
import results_table  # noqa: E402

BEFORE, AFTER = os.path.join(HERE, "figures_before.json"), os.path.join(HERE, "figures_after.json")


def entries():
    return figure_history.load(BEFORE), figure_history.load(AFTER)


class Comparison(unittest.TestCase):
    def test_what_fell(self):
        fell, added, missing, compared = figure_history.compare(*entries())
        # the worst first; a twelfth less is not reported, nor what fell by the clock but not by processor time
        self.assertEqual(fell, [("rows: ctr, MB/s, 1 core, dmlc, avx2", 8.0, 4.0),
                                ("read f32: dd.ddd, MB/s, strtof, avx512", 3.0, 2.0),
                                ("train fm, us a row, 1 thread(s), torch, avx512", 4.0, 3.5)])
        self.assertEqual(added, ["train trees: sparse, s, xgboost, avx512"])
        self.assertEqual(missing, ["train trees: real, s, xgboost, avx512"])
        self.assertEqual(compared, 6)

    def test_same(self):
        before, _ = entries()
        self.assertEqual(figure_history.compare(before, before), ([], [], [], 7))

    def test_command(self):
        text = subprocess.run([sys.executable, "-B", os.path.join(BENCH, "figure_history.py"), BEFORE, AFTER],
                              check=True, capture_output=True, text=True).stdout
        self.assertIn("3 of 6 ratios to peers fell by more than 10%", text)
        self.assertIn("  rows: ctr, MB/s, 1 core, dmlc, avx2: 8.00 -> 4.00\n", text)
        self.assertNotIn("13.00", text)
        self.assertIn("1 new:\n  train trees: sparse", text)
        self.assertIn("1 missing:\n  train trees: real", text)

    def test_busy_machine(self):
        before, after = entries()
        self.assertNotIn("other programs", "\n".join(figure_history.report(before, after)))
        before["others_share"] = 0.5
        self.assertIn("other programs took up to 50%", "\n".join(figure_history.report(before, after)))

    def test_odd_figures(self):
        before, after = entries()
        before["figures"] += [{"what": "no ratio", "benchmark": "x"}, {"what": "none now", "ratio": 2.0}]
        after["figures"] += [{"what": "none now", "ratio": None}, {"what": "zero", "ratio": 0}]
        _, added, missing, compared = figure_history.compare(before, after)
        self.assertEqual((len(added), len(missing), compared), (1, 2, 6))


class Entries(unittest.TestCase):
    def test_save_and_find(self):
        before, after = entries()
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(figure_history.last_comparable(os.path.join(folder, "none"), after))
            path = figure_history.save(folder, before)
            self.assertEqual(os.path.basename(path), "2026-01-02T030405Z.json")
            self.assertEqual(figure_history.load(path), before)
            other = dict(before, date="2026-01-20T00:00:00Z", machine=dict(before["machine"], cores=16))
            figure_history.save(folder, other)
            for name, text in (("broken.json", "{"), ("list.json", "[]"), ("notes.txt", "")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(figure_history.last_comparable(folder, after), before)
            figure_history.save(folder, after)
            self.assertEqual(figure_history.last_comparable(folder, after), before)  # not itself

    def test_machine(self):
        about = figure_history.machine()
        self.assertEqual(set(about), {"cpu", "cores", "levels"})
        self.assertEqual(about["levels"][0], "generic")


class Table(unittest.TestCase):
    """A run of one benchmark at two levels."""

    def make_run(self, folder, level_folder, ours):
        os.makedirs(os.path.join(folder, level_folder), exist_ok=True)
        record = {"format": "ValueTextRowFormat", "type": "f32", "key_bits": 32, "what": "encode", "mb_per_s": ours,
                  "plain_mb_per_s": 50}
        name = os.path.join(folder, level_folder, "bench_matrix_formats")
        with open(name + ".jsonl", "w", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        with open(name + ".command", "w", encoding="utf-8") as file:
            file.write("bench_matrix_formats --json\n")

    def test_both_levels(self):
        with tempfile.TemporaryDirectory() as folder:
            self.make_run(folder, "", 1500)
            self.make_run(folder, "avx2", 1000)
            with open(os.path.join(folder, "bench_rows_peers.json"), "w", encoding="utf-8") as file:
                json.dump({"results": [{"renamed": 1}]}, file)  # a driver that has changed
            with open(os.path.join(folder, "bench_rows_peers.command"), "w", encoding="utf-8") as file:
                file.write("bench_rows_peers.py\n")
            history = os.path.join(folder, "history")
            done = subprocess.run([sys.executable, "-B", os.path.join(BENCH, "results_table.py"), folder, "--history",
                                   history], check=True, capture_output=True, text=True)
            self.assertIn("| encode ValueTextRowFormat, f32, 32-bit column ids | MB/s | 1,500 | plain C loop | 50 | "
                          "30.00 |  | 1,000 | 20.00 |  | `bench_matrix_formats --json` |", done.stdout)
            self.assertIn("no earlier entry", done.stdout)
            self.assertIn("bench_rows_peers: its results are not", done.stderr)
            (name,) = os.listdir(history)
            made = figure_history.load(os.path.join(history, name))
            self.assertEqual([figure["ratio"] for figure in made["figures"]], [30.0, 20.0])
            self.assertEqual(made["figures"][1]["level"], "avx2")
            self.assertEqual(made["machine"], figure_history.machine())

    def test_names_are_told_apart(self):
        part = results_table.Part("name", "command")
        part.add([results_table.Line("a", "s", 1, "peer", 2), results_table.Line("a", "s", 1, "peer", 3)], None)
        self.assertEqual([line.what for line, _ in part.rows()], ["a", "a (again)"])


if __name__ == "__main__":
    unittest.main()
