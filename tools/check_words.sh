#!/usr/bin/env bash
# tools/check_words.sh: fails if a source names a folder of one machine or has a mark for unfinished work.
#   --language [--count]    or if a file has wording that tools/words.txt advises against; --count: how often each pattern is found
#   --message FILE          the same for the message of a commit ("-": standard input)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --message ]; then
  exec python3 tools/find_words.py --message "${2:--}"
fi
paths='(^|[^a-zA-Z0-9_.])/(wor[k]|hom[e]|roo[t]|User[s])/'
marks='\b(TOD[O]|FIXM[E]|XX[X])\b'
if tools/list_files.sh | grep -E '^(src|include|cli|python)/' | xargs -r grep -nE "$paths|$marks"; then
  echo "these lines hold a path of one machine or an open end" >&2
  exit 1
fi
if [ "${1:-}" = --language ]; then
  if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: python3 is not installed"
    exit 77
  fi
  shift
  # Not what other programs wrote, nor what Furrow printed: its messages are in the sources.
  files=$(tools/list_files.sh | grep -E '\.(c|h|cc|inc|md|sh|py|pyi|toml|txt|cmake)$|(^|/)(Makefile|README)$' |
    grep -vE '^tests/(.*/)?(cases|corpus|crashes|golden|reject)/|^tools/(words\.txt|find_words\.py)$|^debian/')
  if ! xargs python3 tools/find_words.py "$@" <<<"$files"; then
    echo "words: tools/words.txt says what to write instead" >&2
    exit 1
  fi
  [ "${1:-}" != --count ] || exit 0
fi
echo "words: clean"
