#!/usr/bin/env bash
# tools/check_words.sh: the sources name no folder of somebody's machine and leave nothing to be done.
set -euo pipefail
cd "$(dirname "$0")/.."
paths='(^|[^a-zA-Z0-9_.])/(wor[k]|hom[e]|roo[t]|User[s])/'
marks='\b(TOD[O]|FIXM[E]|XX[X])\b'
if tools/list_files.sh | grep -E '^(src|include|cli)/' | xargs -r grep -nE "$paths|$marks"; then
  echo "these lines hold a path of one machine or an open end" >&2
  exit 1
fi
echo "words: clean"
