#!/usr/bin/env bash
# tests/mpi/test_train_forest.sh: `furrow train --model gbdt` under mpirun writes the model directory of one process, byte for byte.
#   tests/mpi/test_train_forest.sh BUILD        with MPI=openmpi or MPI=mpich, as run_ranks.sh
set -uo pipefail
build=$(cd "${1:?the folder of the build}" && pwd)
ranks=$(cd "$(dirname "$0")" && pwd)/run_ranks.sh
furrow=$build/furrow
"$furrow" train --help | grep -q -- --rank-timeout || { echo "skipped: furrow train runs as one process" >&2; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

# Rows of a label, two real features, a flag, and a few of 2000 rare features; kind: two, number or classes.
rows() {
  awk -v n="$1" -v kind="$2" -v seed="$3" '
    function draw() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    BEGIN {
      for (i = 0; i < n; i++) {
        a = draw() + draw() - 1; b = draw() + draw() - 1; flag = draw() < .25
        z = 8 * a * b + (flag ? 1 : -.5) + draw() - .5
        label = kind == "two" ? (z > 0) : kind == "number" ? 20 + z : z < -1 ? 0 : z < 1 ? 1 : 2
        printf "%.6g 1:%.5f 2:%.5f%s", label, a, b, flag ? " 3:1" : ""
        for (k = int(draw() * 6); k > 0; k--) printf " %d:1", 4 + k * 2000 + int(draw() ^ 3 * 2000)
        print ""
      }
    }'
}

# NAME OPTIONS…: one process, then 2, 3 and 4 of them.
check() {
  local name=$1 n
  shift
  "$furrow" train --model gbdt "$@" --threads 1 --quiet --out "$name.1" >"$name.log" 2>&1 || { cat "$name.log"; failed=1; return; }
  for n in 2 3 4; do
    "$ranks" "$n" "$furrow" train --model gbdt "$@" --threads 1 --quiet --out "$name.$n" >"$name.log" 2>&1
    case $? in
    0) ;;
    77) exit 77 ;;
    *) cat "$name.log"; failed=1; continue ;;
    esac
    diff -r "$name.1" "$name.$n" >"$name.diff" || { echo "$name: $n ranks differ from one process"; head -3 "$name.diff"; failed=1; }
  done
}

rows 20000 two 1 >two.libsvm
rows 3000 two 2 >two.test
rows 6000 number 3 >number.libsvm
rows 6000 classes 4 >classes.libsvm
rows 2 two 5 >tiny.libsvm
check two --train two.libsvm --trees 15
check valid --train two.libsvm --valid two.test --trees 30 --metric auc --patience 2
check number --train number.libsvm --trees 10 --objective reg:squarederror
check classes --train classes.libsvm --trees 5 --objective multi:softmax
check angel --defaults angel --train two.libsvm --trees 5 --depth 5
check sampled --train two.libsvm --trees 5 --sample-ratio 0.5 --row-ratio 0.5 --feature-ratio 0.3
check streamed --train two.libsvm --trees 5 --stream
check tiny --defaults angel --train tiny.libsvm --trees 2

# A checkpoint of three ranks goes on with two.
"$ranks" 3 "$furrow" train --model gbdt --train two.libsvm --trees 6 --checkpoint c --threads 1 --quiet --out c.6 >c.log 2>&1 &&
  "$ranks" 2 "$furrow" train --model gbdt --train two.libsvm --trees 15 --checkpoint c --resume --threads 1 --quiet --out c.15 >c.log 2>&1 ||
  { cat c.log; failed=1; }
diff -r two.1 c.15 || { echo "a resumed training differs"; failed=1; }

# Groups that lie on two ranks are refused, once and with a reason.
awk 'BEGIN { for (i = 0; i < 400; i++) printf "%d qid:%d 1:%d\n", i % 3, i / 50, i % 7 }' >groups.libsvm
"$ranks" 3 "$furrow" train --model gbdt --objective rank:ndcg --train groups.libsvm --trees 2 --quiet --out groups.3 >groups.log 2>&1
[ $? -eq 2 ] && grep -q 'qid) are on more than one rank' groups.log || { cat groups.log; echo "divided groups: not refused"; failed=1; }
[ ! -e groups.3 ] || { echo "divided groups: a model was written"; failed=1; }
exit $failed
