#!/usr/bin/env bash
# tools/release_date.sh: the time, in seconds since 1970, that everything in a release has: SOURCE_DATE_EPOCH where that is set,
# else the date of the newest entry of debian/changelog.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
  echo "$SOURCE_DATE_EPOCH"
else
  date -u -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s
fi
