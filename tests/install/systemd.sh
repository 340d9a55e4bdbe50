#!/usr/bin/env bash
# tests/install/systemd.sh BUILD: the unit of systemd is well-formed, and leaves the service little of the system:
# systemd-analyze rates its exposure at most 2.0 (0: none, 10: everything). Skipped where systemd-analyze is missing.
set -euo pipefail
build=$(realpath "$1") limit=2.0
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v systemd-analyze >/dev/null || { echo "skipped: systemd-analyze is not installed"; exit 77; }
[ -x "$build/furrow-serve" ] || { echo "skipped: furrow-serve is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unit=$work/furrow-serve.service
sed "s,/usr/bin/furrow-serve,$build/furrow-serve," "$root/packaging/furrow-serve.service" >"$unit"

echo "== verify"
systemd-analyze verify --man=no "$unit" 2>&1 | tee "$work/said"
if grep -F furrow-serve.service "$work/said"; then exit 1; fi # systemd 252 only warns of keys that it does not know

echo "== security"
if ! systemd-analyze security --offline=true --no-pager "$unit" >"$work/rated" 2>&1; then
  if grep -qi 'unrecognized option' "$work/rated"; then
    echo "skipped: this systemd-analyze has no --offline"
    exit 77
  fi
  cat "$work/rated"
  exit 1
fi
exposure=$(sed -n 's/.*Overall exposure level for furrow-serve.service: \([0-9.]*\) .*/\1/p' "$work/rated")
echo "exposure $exposure of at most $limit"
awk -v e="$exposure" -v l="$limit" 'BEGIN { exit !(e != "" && e + 0 <= l + 0) }' || { grep '✗' "$work/rated"; exit 1; }

echo "== stopping"
# The unit waits longer than the service drains; the option's help names the default.
drain=$("$build/furrow" serve --help | tr -s ' \n' ' ' | sed -n 's/.*server stops (\([0-9]*\)).*/\1/p')
stop=$(sed -n 's/^TimeoutStopSec=//p' "$unit")
echo "the unit waits $stop s, the service drains for $drain s"
[ "$stop" -gt "$drain" ]
