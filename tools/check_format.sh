#!/usr/bin/env bash
# tools/check_format.sh: every source is as clang-format leaves it. `make format` puts it right.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v clang-format >/dev/null 2>&1; then
  echo "skipped: clang-format is not installed"
  exit 77
fi
bad=0
for file in $(tools/list_files.sh | grep -E '\.(c|h|cc)$'); do
  if ! clang-format --dry-run -Werror "$file" 2>/dev/null; then
    echo "$file: clang-format would change it" >&2
    bad=1
  fi
done
[ $bad = 0 ] && echo "format: clean"
exit $bad
