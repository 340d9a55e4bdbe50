#!/usr/bin/env bash
# tools/run_bench.sh BUILD: runs every benchmark at a small size. A driver bench/bench_<name>*.py or .sh runs the program
# bench_<name> itself; a program without one is run alone.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
failed=0
run() {
  echo "== $*"
  "$@" || { echo "$1 failed" >&2; failed=1; }
}
for driver in bench/bench_*.py bench/bench_*.sh; do
  if [ -x "$driver" ]; then run "$driver" --quick --build "$build"; fi
done
for program in "$build"/bench/bench_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  if ! compgen -G "bench/$name*.py" >/dev/null && ! compgen -G "bench/$name*.sh" >/dev/null; then run "$program" --quick; fi
done
exit $failed
