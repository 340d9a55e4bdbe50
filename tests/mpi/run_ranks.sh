#!/usr/bin/env bash
# tests/mpi/run_ranks.sh: runs a command as several processes under mpirun, with the flags that tests need: more processes
# than processors, as root, in a container, for at most SECONDS.
#
#   tests/mpi/run_ranks.sh 3 build/furrow model info DIR
#   MPI=mpich tests/mpi/run_ranks.sh 3 …        MPICH rather than Open MPI
#   SECONDS_MAX=20 tests/mpi/run_ranks.sh …     a time limit (120)
#
# Exits with the code of the job; 77: mpirun is not installed; 124: out of time.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
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
exec timeout -k 5 "${SECONDS_MAX:-120}" "$mpirun" "${flags[@]}" "$@"
