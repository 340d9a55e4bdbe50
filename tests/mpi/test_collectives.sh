#!/usr/bin/env bash
# tests/mpi/test_collectives.sh BUILD: every call of the communicator, with 1 to 4 ranks, whole and in many short messages.
# MPI=mpich for MPICH.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # of MPI
program=$build/tests/rank_command
. "$here/mpi_setup.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for ranks in 1 2 3 4; do
  for object in "$FURROW_MPI" "$build/tests/short_messages/${FURROW_MPI##*/}"; do
    # fewer rounds where a part is hundreds of messages
    rounds=12
    [ "$object" = "$FURROW_MPI" ] || rounds=5
    echo "== $ranks ranks, ${object#"$build"/}"
    FURROW_MPI=$object "$here/run_ranks.sh" $ranks "$program" check --mpi --rounds $rounds >"$work/out" 2>"$work/err"
    expect $? = 0
    expect "$(cat "$work/out")" = "0 of $ranks: $rounds rounds" # once
    expect "$(cat "$work/err")" = "furrow: note: of rank 0"
  done
done

echo "== a part of several megabytes"
"$here/run_ranks.sh" 3 "$program" large --bytes 20000001 >"$work/out" 2>"$work/err"
expect $? = 0
expect "$(cat "$work/out")" = "20000001 bytes"
# Parts that one message cannot hold (2^31 bytes and more) need 4 times their size in memory.
if [ -n "${FURROW_LARGE:-}" ]; then
  echo "== a part of $FURROW_LARGE"
  SECONDS_MAX=600 "$here/run_ranks.sh" 2 "$program" large --bytes "$FURROW_LARGE" >"$work/out" 2>"$work/err"
  expect $? = 0
  cat "$work/out"
fi

echo "== a program with communicators of its own"
object=${FURROW_MPI##*/lib}
"$here/run_ranks.sh" 4 "$build/tests/own_comm_${object%.so}" >"$work/out" 2>"$work/err"
expect $? = 0
expect "$(sort -u "$work/out" | grep -c '^halves, threads and the end are as they should be$')" = 1

# Reads and writes of memory; valgrind knows nothing of what MPI does inside, so mpi.supp leaves that out.
if command -v valgrind >/dev/null && ! grep -q -a __asan_init "$program"; then
  echo "== valgrind"
  SECONDS_MAX=300 FURROW_ISA=generic "$here/run_ranks.sh" 2 valgrind -q --error-exitcode=99 --suppressions="$here/mpi.supp" \
    "$program" check --rounds 6 >"$work/out" 2>"$work/err"
  expect $? = 0
  expect "$(cat "$work/out")" = "0 of 2: 6 rounds"
else
  echo "without valgrind, which is not installed"
fi
conclude
