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

echo "== a file that one rank lacks: the message names the rank and its host"
cat >"$work/in_own_folder.sh" <<'EOS'
#!/usr/bin/env bash
cd "$(dirname "$0")/rank.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" && exec "$@"
EOS
chmod +x "$work/in_own_folder.sh"
mkdir "$work"/rank.{0,1,2}
for i in $(seq 60); do echo "$((i % 2)) $((i % 7)):$((i % 2 + 1)) 8:1"; done | tee "$work"/rank.{0,2}/rows.libsvm >"$work/rank.0/valid.libsvm"
for model in lr fm gbdt; do
  run 3 "$work/in_own_folder.sh" "$furrow" train --model $model --train rows.libsvm --out model -q
  expect "$code" = 3
  expect "$(said)" = "furrow: rank 1 of 3 ($(hostname)): rows.libsvm: no such file or directory"
done
cp "$work"/rank.{0,1}/rows.libsvm
run 3 "$work/in_own_folder.sh" "$furrow" train --model fm --train rows.libsvm --valid valid.libsvm --out model -q
expect "$(said)" = "furrow: rank 1 of 3 ($(hostname)): valid.libsvm: no such file or directory"
rm "$work"/rank.*/rows.libsvm
run 3 "$work/in_own_folder.sh" "$furrow" train --model lr --train rows.libsvm --out model -q
expect "$(said)" = "furrow: rows.libsvm: no such file or directory"

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
