#!/bin/bash
# tests/interop/recordio_dmlc.sh FURROW: dmlc-core reads RecordIO that Furrow wrote and the other way round, byte for
# byte, and both give every part the same records. Exit code 77: dmlc-core (libdmlc-dev) is not installed.
set -u
furrow=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
  echo "$*" >&2
  exit 1
}

echo '#include <dmlc/recordio.h>' | ${CXX:-c++} -fsyntax-only -x c++ - 2>/dev/null || { echo "skipped: libdmlc-dev is not installed"; exit 77; }
${CXX:-c++} -O1 -w -o peer "$here/programs/recordio_peer.cc" -ldmlc || exit 1

awk 'BEGIN { srand(7); for (i = 0; i < 400; i++) { printf "%d", i % 2; for (k = int(rand() * 6); k > 0; k--) printf " %d:%d", int(rand() * 1000), i; print "" } }' >rows
"$furrow" rows convert --to libsvm --format libsvm rows sorted || exit 1
"$furrow" rows convert --to libsvm --format libsvm rows ours.rec || exit 1
./peer write theirs.rec <sorted || exit 1
cmp ours.rec theirs.rec || fail "Furrow and dmlc-core write different bytes"
./peer read ours.rec | cmp - sorted || fail "dmlc-core reads other records than were written"
"$furrow" rows dump --format libsvm sorted >expected
"$furrow" rows dump --format libsvm theirs.rec | cmp - expected || fail "Furrow reads other rows than were written"

head -n 150 sorted | ./peer write second.rec
for files in theirs.rec 'theirs.rec;second.rec'; do
  for parts in 1 2 3 5 8 13 100; do
    for part in $(seq 0 $((parts > 13 ? 9 : parts - 1))); do
      ./peer part "$files" $part $parts >lines || exit 1
      "$furrow" rows dump --format libsvm lines >expected_part
      "$furrow" rows dump --format libsvm --part $part/$parts "$files" | cmp - expected_part ||
        fail "part $part of $parts of $files has other records than in dmlc-core"
    done
  done
done

# Errors name the record.
sed '37s/.*/1 x:y/' sorted | ./peer write wrong.rec
"$furrow" rows dump --format libsvm wrong.rec 2>&1 >/dev/null | grep -q 'wrong.rec:37:' || fail "the error does not name record 37"
