#!/usr/bin/env bash
# tools/configure.sh BUILD [CMAKE OPTION …]: configures BUILD, quietly unless that fails. CMake does not notice that CC
# has changed since last time; then BUILD is configured afresh.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
cache=$build/CMakeCache.txt
if [ -n "${CC:-}" ]; then
  path=$(command -v "${CC%% *}" || true)
  used=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$cache" 2>/dev/null || true)
  if [ -n "$used" ] && [ "$used" != "$path" ]; then rm -rf "$cache" "$build/CMakeFiles"; fi
fi
mkdir -p "$build"
if ! cmake -S . -B "$build" "$@" >"$build/configure.log" 2>&1; then
  cat "$build/configure.log" >&2
  exit 1
fi
