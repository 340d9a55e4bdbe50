#!/usr/bin/env bash
# tests/mpi/run_ranks.sh: runs a command as several processes under mpirun, with the flags that tests need: more processes
# than processors, as root, in a container, for at most SECONDS.
#
#   tests/mpi/run_ranks.sh 3 build/furrow model info DIR
#   MPI=mpich tests/mpi/run_ranks.sh 3 …        MPICH rather than Open MPI
#   SECONDS_MAX=20 tests/mpi/run_ranks.sh …     a time limit (240)
#
# Returns when no process of the job is left: ranks may outlive mpirun, above all one that was killed, and still write.
# Exits with the code of the job; 77: mpirun is not installed; 124, 137: out of time; 125: processes outlived the job and
# did not end by themselves; they are killed.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
ranks=$1
shift
mpi=${MPI:-openmpi}
mpirun=$(command -v "mpirun.$mpi" || { [ "$mpi" != openmpi ] || command -v mpirun; }) ||
  { echo "skipped: mpirun of $mpi is not installed" >&2; exit 77; }
flags=(-n "$ranks")
if [ "$mpi" = openmpi ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # one machine, shared memory copied by each side; no help texts around the command's own messages
  flags+=(--oversubscribe --bind-to none --mca btl vader,self --mca btl_vader_single_copy_mechanism none --quiet)
fi
# Every process of the job has this in its environment, and no other process.
job=FURROW_TEST_JOB=$$-$RANDOM-$(date +%s%N)
left() {
  grep -lszxF "$job" /proc/[0-9]*/environ | sed 's:^/proc/::; s:/.*::'
}
env "$job" timeout -k 20 "${SECONDS_MAX:-240}" "$mpirun" "${flags[@]}" "$@"
code=$?
# twice: a process that just begins another program has no environment for a moment
for ((tries = 0; tries < 600; tries++)); do
  [ -n "$(left)" ] || { sleep 0.02 && [ -n "$(left)" ]; } || exit $code
  sleep 0.05
done
echo "run_ranks.sh: these processes outlived the job (exit code $code) and are killed:" >&2
for pid in $(left); do
  echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline")" >&2
  kill -KILL "$pid"
done 2>&1 | sed 's/^/  /' >&2
exit 125
