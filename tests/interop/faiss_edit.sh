#!/bin/bash
# tests/interop/faiss_edit.sh FURROW: Furrow and Faiss change the same index in the same way. Exit code 77: Faiss
# (libfaiss-dev) is not installed, or the library is built with a sanitizer, which Faiss is not.
furrow=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
build=${FURROW_BUILD:-$(dirname "$furrow")}
. "$here/../../tools/probes.sh"
has_faiss || exit 77
grep -qE '__(asan|tsan|ubsan)_' "$furrow" && exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_NUM_THREADS=1
${CXX:-c++} -O1 -I "$here/../../include" -o edit "$here/faiss_edit.cc" -L "$build" -lfurrow -Wl,-rpath,"$build" \
  $faiss_libraries || exit 1
./edit 2>warnings | grep -v '^WARNING clustering'
exit "${PIPESTATUS[0]}"
