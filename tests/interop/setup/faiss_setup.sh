# tests/interop/setup/faiss_setup.sh: sourced by the scripts of tests/interop that compare with Faiss, which get FURROW as their first
# word. Sets furrow, here (the script's folder) and faiss_libraries, and goes to a folder of its own, which is removed at
# the end. Exit code 77: Faiss (libfaiss-dev) is not installed.
furrow=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/probes.sh"
has_faiss || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
