#!/usr/bin/env bash
# tests/mpi/test_faults.sh BUILD: ranks that fail, die, stop or compute for long: the job ends everywhere, in time, with one
# message. MPI=mpich for MPICH.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # of MPI
program=$build/tests/rank_command
. "$here/mpi_setup.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs the job: its code in $code, its time in $took, what it wrote in out and err.
run() {
  local began=$SECONDS
  SECONDS_MAX=${limit:-150} "$here/run_ranks.sh" "$@" >"$work/out" 2>"$work/err"
  code=$?
  took=$((SECONDS - began))
}
messages() {
  grep -c '^furrow: ' "$work/err"
}
host=$(hostname)

echo "== all ranks fail alike: one message without a rank"
run 4 "$program" fail --others fail
expect "$code" = 7
expect "$(grep '^furrow: ' "$work/err")" = "furrow: made to fail"
expect "$(cat "$work/out")" = begun

echo "== one rank fails, the others check for failures"
run 4 "$program" fail --rank 2 --others check
expect "$code" = 7
expect "$(grep '^furrow: ' "$work/err")" = "furrow: rank 2 of 4 ($host): made to fail"

echo "== one rank fails and tells the others why, but does not end: another rank prints its message"
run 4 "$program" fail --rank 2 --others share
expect "$code" != 0
expect "$code" != 124
expect "$took" -lt 50
expect "$(grep '^furrow: ' "$work/err")" = "furrow: rank 2 of 4 ($host): made to fail"

echo "== one rank fails after a call that it has completed: the others complete it, too"
run 3 "$program" fail --rank 2 --others exchange
expect "$code" = 7
expect "$(grep '^furrow: ' "$work/err")" = "furrow: rank 2 of 3 ($host): made to fail"

echo "== one rank fails at the end, the others have ended"
run 3 "$program" fail --rank 1 --others end
expect "$code" = 7
expect "$(grep '^furrow: ' "$work/err")" = "furrow: rank 1 of 3 ($host): made to fail"

for others in wait compute; do
  echo "== one rank fails while the others $others"
  run 4 "$program" fail --rank 2 --others $others
  expect "$code" != 0
  expect "$code" != 124
  expect "$took" -lt 50 # the others would compute for 60 seconds
  expect "$(grep '^furrow: ' "$work/err")" = "furrow: rank 2 of 4 ($host): made to fail"
done

# Starts a job that waits for ever, then does something to the process of a rank: harm SIGNAL RANK [OPTION …]
harm() {
  local signal=$1 rank=$2
  shift 2
  rm -rf "$work/ranks"
  mkdir "$work/ranks"
  SECONDS_MAX=200 "$here/run_ranks.sh" 4 "$program" wait "$work/ranks" "$@" >"$work/out" 2>"$work/err" &
  local job=$!
  for _ in $(seq 1000); do
    [ "$(cat "$work"/ranks/* 2>/dev/null | wc -l)" = 4 ] && break
    sleep 0.1
  done
  expect "$(cat "$work"/ranks/* | wc -l)" = 4
  sleep 1
  local began=$SECONDS
  kill -"$signal" "$(cat "$work/ranks/$rank")"
  wait $job
  code=$?
  took=$((SECONDS - began))
}
# No process of the job is left, and run_ranks.sh had to kill none.
none_left() {
  expect "$code" != 125
  local left=0
  for _ in $(seq 50); do
    left=0
    for pid in $(cat "$work"/ranks/*); do
      [ ! -e "/proc/$pid" ] || grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null || left=$((left + 1))
    done
    [ $left = 0 ] && break
    sleep 0.1
  done
  expect $left = 0
}

for state in "" --computing; do
  echo "== kill -9 of a rank, others ${state:---waiting}"
  harm KILL 2 $state
  expect "$code" != 0
  expect "$code" != 124
  expect "$took" -lt 60
  none_left

  echo "== kill -STOP of a rank, others ${state:---waiting}"
  harm STOP 2 --rank-timeout 5 $state
  expect "$code" != 0
  expect "$code" != 124
  expect "$took" -lt 60
  expect "$(messages)" = 1
  expect "$(grep '^furrow: ' "$work/err")" = "furrow: rank 2 of 4 ($host): has not answered for 5 s; the job is ended"
  none_left
done

echo "== the time limit of the environment"
FURROW_RANK_TIMEOUT=5 harm STOP 0
expect "$(grep '^furrow: ' "$work/err")" = "furrow: rank 0 of 4 ($host): has not answered for 5 s; the job is ended"
FURROW_RANK_TIMEOUT=soon run 2 "$program" check
expect "$code" = 2
expect "$(messages)" = 1
run 2 "$program" check --rank-timeout 0
expect "$code" = 2
expect "$(messages)" = 1

echo "== a rank that computes for longer than the time limit"
run 3 "$program" compute --seconds 10 --rank-timeout 4
expect "$code" = 0
expect "$(cat "$work/out")" = computed
expect "$(cat "$work/err")" = ""

conclude
