# tests/mpi/mpi_setup.sh, to be sourced with $build set: skips where the MPI of the test is missing; checks.

mpi=${MPI:-openmpi}
command -v "mpirun.$mpi" >/dev/null || { echo "skipped: mpirun.$mpi is not installed"; exit 77; }
library=libfurrow_mpi.so
[ -e "$build/libfurrow_mpi_$mpi.so" ] && library=libfurrow_mpi_$mpi.so
export FURROW_MPI=$build/$library

wrong=0
# expect A = B, expect A -lt B …: as test, but says what is wrong and goes on
expect() {
  [ "$@" ] && return
  echo "line ${BASH_LINENO[0]}: not so: $*"
  [ -z "${work:-}" ] || head -n 30 "$work/out" "$work/err" 2>/dev/null
  wrong=$((wrong + 1))
}
conclude() {
  [ $wrong = 0 ] || { echo "$wrong checks failed"; exit 1; }
}
