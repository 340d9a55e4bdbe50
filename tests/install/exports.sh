#!/usr/bin/env bash
# tests/install/exports.sh LIBRARY: the shared library exports every function that the public headers declare, and
# nothing else, all of the version FURROW_1; its name for the linker is libfurrow.so.1.
set -euo pipefail
library=$1
include=$(cd "$(dirname "$0")/../../include" && pwd)
bad=0

versions=$(nm -D --defined-only --with-symbol-versions "$library" | awk '{ print $NF }' | sort -u)
exported=$(echo "$versions" | sed 's/@.*//' | grep -v '^FURROW_1$' | sort -u)
declared=$(cat "$include"/furrow/*.h | grep -v '^#' | tr '\n' ' ' | grep -oE 'FURROW_(API|INLINE) [^(;]*\(' |
  grep -oE '[a-z0-9_]+ *\($' | tr -d '( ' | sort -u)

for name in $(comm -23 <(echo "$exported") <(echo "$declared")); do
  echo "$name is exported, but no public header declares it" >&2
  bad=1
done
for name in $(comm -13 <(echo "$exported") <(echo "$declared")); do
  echo "$name is declared, but not exported" >&2
  bad=1
done
for name in $(echo "$versions" | grep -vE '@@FURROW_1$|^FURROW_1(@|$)' || true); do
  echo "$name is not of the version FURROW_1" >&2
  bad=1
done
if ! readelf -d "$library" | grep 'SONAME.*\[libfurrow\.so\.1\]' >/dev/null; then
  echo "the library's SONAME is not libfurrow.so.1" >&2
  bad=1
fi
[ $bad = 0 ] && echo "$(echo "$exported" | wc -l) functions are declared and exported"
exit $bad
