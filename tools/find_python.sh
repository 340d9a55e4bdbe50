#!/usr/bin/env bash
# tools/find_python.sh [MODULE …]: prints the Python that builds the package: $PYTHON, or else the first of python3,
# /usr/bin/python3 and python3.N that is 3.11 or later and has its headers, NumPy, setuptools, wheel, pip, venv and the
# modules given. On stderr it says which one that is and what the others lack. Fails if there is none.
set -uo pipefail

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
    names = ["numpy", "setuptools", "wheel", "pip", "venv", "ensurepip", *sys.argv[1:]]
    absent = [name for name in names if not has(name)]
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        absent.append("Python.h")
    if absent:
        print("lacks", ", ".join(absent))
PYTHON
}

candidates=(python3 /usr/bin/python3 python3.{20..11})
if [ -n "${PYTHON:-}" ]; then candidates=("$PYTHON"); fi
for python in "${candidates[@]}"; do
  command -v "$python" >/dev/null || continue
  reason=$(lacks "$python" - "$@")
  if [ -z "$reason" ]; then
    echo "python: $python, $("$python" -c 'import sys; print(sys.version.split()[0], "in", sys.prefix)')" >&2
    echo "$python"
    exit 0
  fi
  case $python in python3.*) ;; *) echo "not taken: $python $reason" >&2 ;; esac
done
echo "no Python can build the package; on Debian: apt-get install python3-dev python3-numpy python3-setuptools" \
  "python3-wheel python3-pip python3-venv${1:+, and for the tests python3-pytest python3-hypothesis python3-scipy mypy}" >&2
exit 1
