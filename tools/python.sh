#!/usr/bin/env bash
# tools/python.sh NAME …: the Python package.
#
#   find [MODULE …]   prints the Python that builds it: $PYTHON, or else the first of python3, /usr/bin/python3 and python3.N
#                     that is 3.11 or later and has its headers, NumPy, pip, venv and the modules given. On
#                     stderr it says which one that is and what the others lack. Fails if there is none
#   wheel BUILD       makes a wheel in BUILD/python, with the library of BUILD in it. It serves CPython 3.11 and later
#   test BUILD        tests the package with the library of BUILD: types (mypy), tests and doctests (pytest;
#                     PYTEST_ADDOPTS has more options for it). The package is a wheel, installed into BUILD/python-venv; if
#                     BUILD has AddressSanitizer, the module is compiled with it; then tests that measure time or memory
#                     are left out, and so are comparisons with libraries that are slow under it. BUILD/python-test has
#                     the output and test_counts ("passed failed skipped"); the last line is pytest's
set -euo pipefail
cd "$(dirname "$0")/.."

# What an interpreter lacks, on one line; nothing if it can be used.
lacks() {
  "$@" 2>/dev/null <<'PYTHON' || echo "does not run"
import importlib.util, os, sys, sysconfig
def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
if sys.version_info < (3, 11):
    print("is", sys.version.split()[0])
else:
    names = ["numpy", "pip", "venv", "ensurepip", *sys.argv[1:]]
    absent = [name for name in names if not has(name)]
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        absent.append("Python.h")
    if absent:
        print("lacks", ", ".join(absent))
PYTHON
}

find_python() {
  local candidates python reason
  candidates=(python3 /usr/bin/python3 python3.{20..11})
  if [ -n "${PYTHON:-}" ]; then candidates=("$PYTHON"); fi
  for python in "${candidates[@]}"; do
    command -v "$python" >/dev/null || continue
    reason=$(lacks "$python" - "$@")
    if [ -z "$reason" ]; then
      echo "python: $python, $("$python" -c 'import sys; print(sys.version.split()[0], "in", sys.prefix)')" >&2
      echo "$python"
      return 0
    fi
    case $python in python3.*) ;; *) echo "not taken: $python $reason" >&2 ;; esac
  done
  echo "no Python can build the package; on Debian: apt-get install python3-dev python3-numpy python3-pip" \
    "python3-venv${1:+, and for the tests python3-pytest python3-hypothesis python3-scipy mypy}" >&2
  return 1
}

make_wheel() {
  local python wheels=$1/python log
  python=$(find_python) || exit 1
  rm -rf "$wheels"
  mkdir -p "$wheels"
  log=$(SOURCE_DATE_EPOCH=$(tools/tree.sh date) FURROW_LIBRARY=static FURROW_BUILD=$1 "$python" -m pip wheel \
    --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$wheels" ./python 2>&1) ||
    { echo "$log" >&2; exit 1; }
  realpath --relative-to . "$wheels"/*.whl
}

# ---- Tests ----

from_cache() {
  sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# The module as it is for users.
use_wheel() {
  local wheel
  wheel=$(PYTHON=$python make_wheel "$build")
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
  CC=$compiler FURROW_LIBRARY=static FURROW_BUILD=$build FURROW_SANITIZE=$sanitizers \
    "$python" -B python/build_backend.py package "$build/python/lib"
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

test_package() {
  rm -rf "$results"
  mkdir -p "$results"
  python=$(find_python pytest hypothesis mypy scipy) || exit 1
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
}

case ${1:-}:$# in
  find:*) find_python "${@:2}" ;;
  wheel:2) make_wheel "$(realpath -m "$2")" ;;
  test:2)
    build=$(realpath "$2")
    results=$build/python-test
    test_package
    ;;
  *) echo "usage: tools/python.sh find [MODULE …] | wheel BUILD | test BUILD" >&2 && exit 2 ;;
esac
