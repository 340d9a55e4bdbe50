#!/bin/bash
# tests/interop/faiss_edit.sh FURROW: Furrow and Faiss change the same index in the same way. Exit code 77: Faiss
# (libfaiss-dev) is not installed, or the library is built with a sanitizer, which Faiss is not.
. "$(dirname "$0")/setup/faiss_setup.sh"
build=${FURROW_BUILD:-$(dirname "$furrow")}
grep -qE '__(asan|tsan|ubsan)_' "$furrow" && exit 77
${CXX:-c++} -O1 -I "$here/../../include" -o edit "$here/programs/faiss_edit.cc" -L "$build" -lfurrow -Wl,-rpath,"$build" \
  $faiss_libraries || exit 1
./edit 2>warnings | grep -v '^WARNING clustering'
exit "${PIPESTATUS[0]}"
