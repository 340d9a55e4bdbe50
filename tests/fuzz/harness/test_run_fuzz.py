#!/usr/bin/env python3
"""What tools/run_fuzz.py makes of fuzz programs: seeds, failures, figures. The programs here are scripts."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "run_fuzz.py")

# Prints what libFuzzer prints, notes its arguments, and fails as often as its file `fails` has lines.
PROGRAM = """#!/bin/sh
echo "$@" >> "$0.calls"
echo "#2 INITED cov: 10 ft: 20 corp: 1/1b"
echo "#9 NEW    cov: 13 ft: 29 corp: 2/2b"
for argument; do
  case $argument in -artifact_prefix=*) failed=${argument#-artifact_prefix=} ;; -merge=1) exit 0 ;; esac
done
echo "stat::number_of_executed_units: 1234"
if [ -s "$0.fails" ]; then
  sed -i 1d "$0.fails"
  echo input > "${failed}crash-1"
  echo "artifact_prefix='$failed'; Test unit written to ${failed}crash-1"
  exit 77
fi
"""


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.build = self.folder.name
        for name in ("one", "two"):
            with open(self.path("fuzz_" + name), "w", encoding="ascii") as file:
                file.write(PROGRAM)
            os.chmod(file.name, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.build, name)

    def run_tool(self, *arguments, seed=None):
        environment = {key: value for key, value in os.environ.items() if key != "FUZZ_SEED"}
        if seed is not None:
            environment["FUZZ_SEED"] = str(seed)
        return subprocess.run([sys.executable, "-B", TOOL, *arguments, "--build", self.build], env=environment,
                              capture_output=True, text=True, check=False)

    def calls(self, name):
        with open(self.path("fuzz_%s.calls" % name), encoding="ascii") as file:
            return file.read().splitlines()

    def let_fail(self, name, times):
        with open(self.path("fuzz_%s.fails" % name), "w", encoding="ascii") as file:
            file.write("x\n" * times)

    def test_seed_is_printed_and_given(self):
        done = self.run_tool("short", seed=4711)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("FUZZ_SEED=4711 repeats this run", done.stdout.splitlines()[0])
        for name in ("one", "two"):
            self.assertIn("-seed=4711 ", self.calls(name)[0])

    def test_seed_changes(self):
        self.run_tool("short", "one")
        self.assertGreater(int(self.calls("one")[0].split("-seed=")[1].split()[0]), 1000000)

    def test_time_is_shared(self):
        done = self.run_tool("short", "--total", "30", "--jobs", "2")
        self.assertIn("at most 30 s each", done.stdout)
        done = self.run_tool("short", "--total", "30", "--jobs", "1")
        self.assertIn("at most 15 s each", done.stdout)

    def test_failure_names_seed_input_and_command(self):
        self.let_fail("two", 1)
        done = self.run_tool("short", seed=5)
        self.assertEqual(done.returncode, 1)
        self.assertIn("fuzz_one: clean, 1234 executions", done.stdout)
        self.assertIn("fuzz_two: failed with FUZZ_SEED=5", done.stdout)
        kept = self.path("failed/two/crash-1")
        self.assertTrue(os.path.exists(kept))
        self.assertIn("repeat it: %s %s" % (self.path("fuzz_two"), kept), done.stdout)

    def test_long_goes_on_after_crashes(self):
        self.let_fail("one", 100)
        figures = self.path("figures")
        done = self.run_tool("long", "--seconds", "600", "--json", figures, "one", seed=8)
        self.assertEqual(done.returncode, 1, done.stdout)
        with open(figures, encoding="ascii") as file:
            (row,) = [json.loads(line) for line in file]
        *runs, merge = self.calls("one")
        self.assertEqual([call.split("-seed=")[1].split()[0] for call in runs], [str(8 + i) for i in range(10)])
        self.assertIn("-merge=1", merge)
        self.assertEqual((row["harness"], row["crashes"], row["executions"]), ("one", 10, 12340))
        self.assertEqual((row["coverage_before"], row["coverage"], row["features"]), (10, 13, 29))

    def test_no_such_program(self):
        done = self.run_tool("short", "three")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no fuzz_three", done.stderr)


if __name__ == "__main__":
    unittest.main()
