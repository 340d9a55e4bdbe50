#!/usr/bin/env bash
# tools/run_bench.sh BUILD: runs every benchmark at a small size and writes what they found to bench/RESULTS.md. A driver
# bench_<name>*.py runs the program bench_<name> itself; a program without one is run alone, at the size below.
# bench_movielens.py needs data that is not here.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# The options that make programs without a driver run briefly, and whether they print a line of JSON for each figure.
declare -A small=([bench_kernels]=--quick [bench_numbers]='--numbers 200000 --rounds 3 --json'
  [bench_matrix_formats]='--records 200000 --rounds 3 --json' [bench_net]='fm adagrad array 1024 1'
  [bench_product_peers]='--quick --json' [bench_json_peers]='--quick --json' [bench_number_peers]='--quick --json'
  [bench_thread_peers]='--quick --json')

# run NAME COMMAND…: keeps the command for the table
run() {
  local name=$1 began=$SECONDS
  shift
  echo "== $*"
  echo "${shown:-$*}" >"$work/$name.command"
  "$@" || { echo "$name failed" >&2; failed=1; }
  echo "($((SECONDS - began)) s)"
}

for driver in bench/bench_*.py bench/log/bench_*.py bench/python/bench_*.py bench/serve/bench_*.py \
  bench/cluster/bench_*.py; do
  name=$(basename "$driver" .py)
  if [ -x "$driver" ] && [ "$name" != bench_movielens ]; then
    shown="$driver --quick" run "$name" "$driver" --quick --build "$build" --out "$work/$name.json"
  fi
done
for program in "$build"/bench/bench_*; do
  name=$(basename "$program")
  [ -x "$program" ] && ! compgen -G "bench/$name*.py" >/dev/null && ! compgen -G "bench/*/$name*.py" >/dev/null || continue
  arguments=${small[$name]-}
  case $arguments in
  *--json*) run "$name" "$program" $arguments >"$work/$name.jsonl" ;;
  ?*) run "$name" "$program" $arguments ;;
  *) echo "$name has no driver and no small size in tools/run_bench.sh" >&2 && failed=1 ;;
  esac
done
# programs that print JSON lines name the run there, too
for file in "$work"/*.jsonl; do
  [ -f "$file" ] && sed -i '/^{/!d' "$file"
done
bench/results_table.py "$work" --out bench/RESULTS.md
exit $failed
