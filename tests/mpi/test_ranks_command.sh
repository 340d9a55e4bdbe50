#!/usr/bin/env bash
# tests/mpi/test_ranks_command.sh BUILD: the command under mpirun: what runs where, what it prints, its message where MPI is missing.
# MPI=mpich for MPICH.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # of MPI
program=$build/tests/rank_command
furrow=$build/furrow
. "$here/mpi_setup.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {
  "$here/run_ranks.sh" "$@" >"$work/out" 2>"$work/err"
  code=$?
}
# The command's own lines; launchers add theirs.
said() {
  grep -E '^(furrow|hint): ' "$work/err"
}
printf '1 1:2 3:4\n-1 2:1\n' >"$work/rows.libsvm"

echo "== a command for rank 0"
run 3 "$program" alone
expect "$code" = 1
expect "$(head -n 1 "$work/out")" = "rank 0 of 1"
"$furrow" rows dump "$work/rows.libsvm" >"$work/expected"
run 3 "$furrow" rows dump "$work/rows.libsvm"
expect "$code" = 0
expect "$(cat "$work/out")" = "$(cat "$work/expected")"
expect "$(cat "$work/err")" = ""
run 3 "$furrow" --version
expect "$(cat "$work/out")" = "$("$furrow" --version)"

echo "== one message for a failure that all ranks find"
run 3 "$furrow" rows info "$work/none.libsvm"
expect "$code" = 3
expect "$(said | sed "s/rank 0 of 3 ([^)]*): //")" = "furrow: $work/none.libsvm: no such file or directory" # by all ranks, or by rank 0
run 3 "$furrow" rows info --mip "$work/rows.libsvm"
expect "$code" = 2
expect "$(said)" = "furrow: unknown option --mip
hint: did you mean --mpi?"
run 3 "$program" fail --others never
expect "$code" = 2
expect "$(said | wc -l)" = 1

echo "== the shared object: found beside the command; missing; another file"
cp "$furrow" "$work/furrow"
run_without() {
  env -u FURROW_MPI LD_LIBRARY_PATH= "$here/run_ranks.sh" "$@" >"$work/out" 2>"$work/err"
  code=$?
}
run_without 4 "$work/furrow" rows dump "$work/rows.libsvm"
expect "$code" = 3
expect "$(said)" = "furrow: MPI is not available: install the package furrow-mpi (libfurrow_mpi.so was not found)"
expect "$(cat "$work/out" | grep -c 1:2)" = 0
run_without 1 "$work/furrow" rows dump "$work/rows.libsvm"
expect "$code" = 0
cp "$FURROW_MPI" "$work/"
run_without 4 "$work/furrow" rows dump "$work/rows.libsvm"
expect "$code" = 0
expect "$(cat "$work/out")" = "$(cat "$work/expected")"
FURROW_MPI=$work/nothing.so run 2 "$furrow" rows dump "$work/rows.libsvm"
expect "$code" = 3
expect "$(said | head -n 1 | cut -c 1-29)" = "furrow: MPI cannot be loaded:"
FURROW_MPI=libz.so.1 run 2 "$furrow" rows dump "$work/rows.libsvm"
expect "$code" = 10
expect "$(said | head -n 1)" = "furrow: MPI cannot be loaded: not a libfurrow_mpi.so of Furrow"

echo "== the launcher of another MPI"
for other in openmpi mpich; do
  [ $other != "$mpi" ] && command -v mpirun.$other >/dev/null || continue
  MPI=$other run 2 "$furrow" rows dump "$work/rows.libsvm"
  expect "$code" = 12
  expect "$(said | head -n 1)" = \
    "furrow: 2 processes were started, but MPI knows of 1: the launcher belongs to another MPI"
done

echo "== processes of srun that no MPI knows"
env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 "$furrow" rows dump "$work/rows.libsvm" >"$work/out" 2>"$work/err"
expect $? = 12
expect "$(cat "$work/out")" = ""
conclude
