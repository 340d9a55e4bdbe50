#!/usr/bin/env bash
# tools/run_bench.sh BUILD [NAME…]: runs every benchmark at a small size, or those that are named, writes what they found to
# bench/RESULTS.md and bench/history/, and reports what fell since the last entry of such a machine. A driver
# bench_<name>*.py runs the program bench_<name> itself; a program without one is run alone, at the size below.
# bench_movielens.py needs data that is not here. With names, the table and the entry go to $RESULTS and $HISTORY, or
# nowhere.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
names=" $* "
table=${RESULTS-$([ $# -gt 0 ] || echo bench/RESULTS.md)}
history=${HISTORY-$([ $# -gt 0 ] || echo bench/history)}
work=$(mktemp -d)
mkdir "$work/avx2"
trap 'rm -rf "$work"' EXIT
failed=0

# The options that make programs without a driver run briefly, and whether they print a line of JSON for each figure.
declare -A small=([bench_kernels]=--quick [bench_numbers]='--numbers 200000 --rounds 3 --json'
  [bench_matrix_formats]='--records 200000 --rounds 3 --json' [bench_net]='fm adagrad array 1024 1'
  [bench_product_peers]='--quick --json' [bench_json_peers]='--quick --json' [bench_number_peers]='--quick --json'
  [bench_thread_peers]='--quick --json')

# These run a second time with AVX2 alone, where there is something better: their kernels depend on the level.
leveled=' bench_rows_peers bench_model_peers bench_vector_peers bench_vector_frontier bench_learn_peers bench_forest_peers
  bench_recommend bench_matrix_formats bench_product_peers '
best=$(PYTHONPATH=bench python3 -B -c 'import figure_history; print(figure_history.levels()[-1])')

wanted() {
  [ "$names" = '  ' ] || [[ $names == *" $1 "* ]]
}
has_levels() {
  [ "$best" = avx512 ] && [[ $leveled =~ [[:space:]]$1[[:space:]] ]]
}

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
  if [ -x "$driver" ] && [ "$name" != bench_movielens ] && wanted "$name"; then
    shown="$driver --quick" run "$name" "$driver" --quick --build "$build" --out "$work/$name.json"
    has_levels "$name" || continue
    shown="$driver --quick" FURROW_ISA=avx2 run "avx2/$name" "$driver" --quick --build "$build" \
      --out "$work/avx2/$name.json"
  fi
done
for program in "$build"/bench/bench_*; do
  name=$(basename "$program")
  [ -x "$program" ] && ! compgen -G "bench/$name*.py" >/dev/null && ! compgen -G "bench/*/$name*.py" >/dev/null || continue
  wanted "$name" || continue
  arguments=${small[$name]-}
  case $arguments in
  *--json*)
    run "$name" "$program" $arguments >"$work/$name.jsonl"
    has_levels "$name" || continue
    [ "$name" != bench_product_peers ] || arguments="$arguments --isa avx2" # the peers, too
    FURROW_ISA=avx2 run "avx2/$name" "$program" $arguments >"$work/avx2/$name.jsonl"
    ;;
  ?*) run "$name" "$program" $arguments ;;
  *) echo "$name has no driver and no small size in tools/run_bench.sh" >&2 && failed=1 ;;
  esac
done
# programs that print JSON lines name the run there, too
for file in "$work"/*.jsonl "$work"/avx2/*.jsonl; do
  [ -f "$file" ] && sed -i '/^{/!d' "$file"
done
bench/results_table.py "$work" ${table:+--out "$table"} ${history:+--history "$history"}
exit $failed
