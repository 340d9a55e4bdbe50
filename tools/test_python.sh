#!/usr/bin/env bash
# tools/test_python.sh BUILD: tests the Python package with the library of BUILD: types (mypy), tests and doctests
# (pytest; PYTEST_ADDOPTS has more options for it). The package is a wheel, installed into BUILD/python-venv; if BUILD has
# AddressSanitizer, the module is compiled with it; then tests that measure time or memory are left out, and so are
# comparisons with libraries that are slow under it.
# BUILD/python-test has the output and test_counts ("passed failed skipped"); the last line is pytest's.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
results=$build/python-test
rm -rf "$results"
mkdir -p "$results"
from_cache() {
  sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# The module as it is for users.
use_wheel() {
  local wheel
  wheel=$(PYTHON=$python tools/make_wheel.sh "$build")
  echo "wheel: $wheel"
  rm -rf "$build/python-venv"
  "$python" -m venv --system-site-packages "$build/python-venv"
  "$build/python-venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
  python=$build/python-venv/bin/python
}

# The module with the sanitizers of BUILD. Their runtime has to be in the process before the interpreter, and so has that of
# C++, whose exceptions it intercepts.
use_sanitizers() {
  local compiler
  compiler=$(from_cache CMAKE_C_COMPILER)
  runtime="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so.6)"
  if [ "${runtime#/}" = "$runtime" ]; then
    echo "the sanitizers of $compiler cannot be loaded into Python; CC=gcc can" >&2
    exit 1
  fi
  (cd python && CC=$compiler FURROW_LIBRARY=static FURROW_BUILD=$build FURROW_SANITIZE=$sanitizers \
    "$python" -W ignore setup.py --quiet build --build-base "$build/python" --build-lib "$build/python/lib")
  export PYTHONPATH=$build/python/lib FURROW_TEST_WITHOUT=torch,faiss,hnswlib,xgboost PYTHONMALLOC=malloc
  # By their names; a -k of the user comes later and wins.
  export PYTEST_ADDOPTS="-k 'not (memory or leak or ctrl_c or signal or fast)' ${PYTEST_ADDOPTS:-}"
  # pytest captures what is printed; a report that ends the process would be lost.
  local all=abort_on_error=1:log_path=$results/report
  export ASAN_OPTIONS=$all:detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=$all:print_stacktrace=1:halt_on_error=1
}

# In an empty folder: Python finds the package that was built, not the folder of its sources, and the tree stays clean.
run_pytest() {
  local python_folder=$PWD/python
  if [ -x "$build/furrow" ]; then export FURROW_COMMAND=$build/furrow; fi
  mkdir -p "$results/work"
  cd "$results/work"
  env ${runtime:+"LD_PRELOAD=$runtime"} HYPOTHESIS_STORAGE_DIRECTORY="$results/hypothesis" "$python" -m pytest \
    -c "$python_folder/pyproject.toml" --quiet --tb=short -r fEs --junitxml="$results/junit.xml" \
    --basetemp="$results/tmp" "$python_folder/tests" --pyargs furrow
}

# What pytest counted, and mypy's result as one more.
count() {
  "$python" - "$results/junit.xml" "$1" <<'PYTHON' >"$results/test_counts"
import sys
from xml.etree import ElementTree
suites = ElementTree.parse(sys.argv[1]).getroot().iter("testsuite")
total = failed = skipped = 0
for suite in suites:
    total += int(suite.get("tests"))
    failed += int(suite.get("failures")) + int(suite.get("errors"))
    skipped += int(suite.get("skipped"))
types = int(sys.argv[2] != "0")
print(total - failed - skipped + 1 - types, failed + types, skipped)
PYTHON
}

python=$(tools/find_python.sh pytest hypothesis mypy scipy)
sanitizers=$(from_cache FURROW_SANITIZE)
runtime='' types=0 tests=0
case $sanitizers in
  *address*) use_sanitizers ;;
  *) use_wheel ;;
esac
(cd python && env -u PYTHONPATH -u PYTHONMALLOC "$python" -m mypy --cache-dir "$build/mypy-cache") || types=$?
(run_pytest) 2>&1 | tee "$results/log" || tests=$?
for report in "$results"/report.*; do
  if [ -s "$report" ]; then
    head -n 60 "$report" >&2
    tests=1
  fi
done
if [ -f "$results/junit.xml" ]; then count $types; fi
if [ $types != 0 ]; then echo "mypy found mistakes, see above" >&2; fi
[ $types = 0 ] && [ $tests = 0 ]
