#!/usr/bin/env bash
# tools/list_files.sh: the files of the project, from its root: those that git has or would take, or without git all
# that lie outside of build folders.
set -euo pipefail
cd "$(dirname "$0")/.."
if files=$(git ls-files --cached --others --exclude-standard 2>/dev/null) && [ -n "$files" ]; then
  while IFS= read -r file; do
    if [ -f "$file" ]; then echo "$file"; fi
  done <<<"$files" | LC_ALL=C sort
else
  find . \( -name .git -o -path ./build -o -path './build-*' \) -prune -o -type f -print | sed 's|^\./||' | LC_ALL=C sort
fi
