#!/usr/bin/env bash
# tools/make_wheel.sh BUILD: the Python package as a wheel, in BUILD/python, with the library of BUILD in it. It serves
# CPython 3.11 and later.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "$1")
python=$(tools/find_python.sh)
wheels=$build/python
SOURCE_DATE_EPOCH=$(tools/release_date.sh)
export SOURCE_DATE_EPOCH
rm -rf "$wheels"
mkdir -p "$wheels"
log=$(FURROW_LIBRARY=static FURROW_BUILD=$build "$python" -m pip wheel --disable-pip-version-check --no-deps \
  --no-build-isolation --wheel-dir "$wheels" ./python 2>&1) || { echo "$log" >&2; exit 1; }
realpath --relative-to . "$wheels"/*.whl
