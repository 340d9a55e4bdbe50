#!/usr/bin/env bash
# tests/install/size.sh STRIP FURROW BYTES: the command without its symbols is no larger than that.
set -euo pipefail
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
"$1" -o "$copy" "$2"
size=$(stat -c %s "$copy")
echo "$size bytes of $3"
[ "$size" -le "$3" ]
