#!/usr/bin/env bash
# tests/mpi/test_save.sh: models and checkpoints that several processes write: the model is that of one process with as many servers,
# byte for byte; a checkpoint continues with another number of processes; a job that is killed leaves the old model and checkpoint.
#   tests/mpi/test_save.sh BUILD        with MPI=openmpi or MPI=mpich, as run_ranks.sh
set -uo pipefail
build=$(cd "${1:?the folder of the build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/mpi_setup.sh"
furrow=$build/furrow
"$furrow" train --help | grep -q -- --rank-timeout || { echo "skipped: furrow train runs as one process" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

run() { # RANKS OUT OPTIONS…
  local n=$1 to=$2
  shift 2
  if [ "$n" = 1 ]; then set -- "$furrow" "$@"; else set -- "$here/run_ranks.sh" "$n" "$furrow" "$@"; fi
  "$@" --threads 1 --quiet --out "$to" >out 2>err
}

awk 'BEGIN { seed = 1
  for (i = 0; i < 3000; i++) {
    sum = 0; line = ""
    for (f = 0; f < 8; f++) { seed = (seed * 16807) % 2147483647; key = f * 3000 + seed % 3000 + 1; sum += key; line = line " " key ":1" }
    print (sum % 3 ? 1 : -1) line } }' >rows

fm="train --model fm --defaults angel --rank 4 --epochs 4 --train rows"
for type in T_FLOAT_SPARSE_LONGKEY T_FLOAT_SPARSE T_DOUBLE_DENSE; do
  for n in 2 3; do
    run 1 one.$type.$n $fm --model-type $type --servers $n
    expect $? = 0
    run $n many.$type.$n $fm --model-type $type
    expect $? = 0
    diff -r one.$type.$n many.$type.$n >out 2>err
    expect $? = 0
    "$furrow" model verify many.$type.$n >out 2>err
    expect $? = 0
  done
done
"$furrow" model dump many.T_FLOAT_SPARSE.2/embedding_embedding >dump.2
"$furrow" model dump many.T_FLOAT_SPARSE.3/embedding_embedding >dump.3
expect "$(cmp dump.2 dump.3 2>&1)" = ""

# A model that was trained further by other processes.
sparse="$fm --model-type T_FLOAT_SPARSE"
run 1 further.1 $sparse --load many.T_FLOAT_SPARSE.3 --servers 2
expect $? = 0
run 2 further.2 $sparse --load many.T_FLOAT_SPARSE.3
expect $? = 0
expect "$(diff -r further.1 further.2 2>&1)" = ""

# Two processes, then three, then one.
run 2 begun $sparse --epochs 1 --checkpoint kept
expect $? = 0
expect "$(ls kept | wc -l)" = 3
run 3 more $sparse --epochs 3 --checkpoint kept --resume
expect $? = 0
expect "$(ls kept | wc -l)" = 4
run 1 whole $sparse --checkpoint kept --resume --servers 3
expect $? = 0
expect "$(ls -A kept)" = checkpoint
expect "$(diff -r whole many.T_FLOAT_SPARSE.3 2>&1)" = ""

# What is there stays; a part that is missing is named.
run 2 begun $sparse
expect $? = 11
expect "$(grep -c 'there is a directory of that name already' err)" -gt 0
run 3 begun $sparse --epochs 1 --checkpoint kept --force
expect $? = 0
rm kept/checkpoint.*.1-of-3
run 2 none $sparse --checkpoint kept --resume
expect $? = 7
expect "$(grep -c 'part 1-of-3 of the checkpoint is missing' err)" -gt 0
expect ! -e none

# Killed at some moment of many savings: the old model or the new one, and a checkpoint that continues.
rm -r kept
began=$(date +%s%N)
run 2 killed $sparse --epochs 1 --checkpoint kept
expect $? = 0
took=$((($(date +%s%N) - began) / 1000000)) # milliseconds until a job of this machine has saved
for percent in 85 105 130 160; do
  (
    wait=$((took * percent / 100 + 1))
    SECONDS_MAX=$((wait / 1000)).$(printf %03d $((wait % 1000))) run 2 killed $sparse --epochs 400 --checkpoint kept --resume --force
  ) 2>/dev/null
  code=$? # run_ranks.sh returns when no process of the job is left, and says where that was not so
  case $code in
  0 | 124 | 137) ;;
  *) expect "$code of a killed job" = 124 ;;
  esac
  "$furrow" model verify killed >out 2>err
  expect $? = 0
done
epochs=$("$furrow" info kept | awk '$1 == "epochs" { print $2 }')
expect "$epochs" -ge 1
run 3 killed $sparse --epochs $((epochs + 1)) --checkpoint kept --resume --force
expect $? = 0
"$furrow" model verify killed >out 2>err
expect $? = 0
expect "$("$furrow" info kept | awk '$1 == "epochs" { print $2 }')" = $((epochs + 1))
expect "$(ls -A kept | wc -l)" = 4
conclude
