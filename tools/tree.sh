#!/usr/bin/env bash
# tools/tree.sh NAME: a fact about the tree.
#
#   files   the files of the project, from its root: what git tracks or would add; without git, every file outside of
#           build folders
#   date    the time, in seconds since 1970, that everything in a release has: SOURCE_DATE_EPOCH where that is set, else
#           the date of the newest entry of debian/changelog
set -euo pipefail
cd "$(dirname "$0")/.."

print_files() {
  local files
  if files=$(git ls-files --cached --others --exclude-standard 2>/dev/null) && [ -n "$files" ]; then
    while IFS= read -r file; do
      if [ -f "$file" ]; then echo "$file"; fi
    done <<<"$files"
  else
    find . \( -name .git -o -path ./build -o -path './build-*' \) -prune -o -type f -print | sed 's|^\./||'
  fi | LC_ALL=C sort
}

print_date() {
  if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
    echo "$SOURCE_DATE_EPOCH"
  else
    date -u -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s
  fi
}

case ${1:-} in
  files) print_files ;;
  date) print_date ;;
  *) echo "usage: tools/tree.sh files|date" >&2 && exit 2 ;;
esac
