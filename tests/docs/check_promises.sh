#!/usr/bin/env bash
# tests/docs/check_promises.sh ROOT: no promise without a test. Every point of SECURITY.md about what is promised, every limit
# in it, and every promise that docs/reliability.md lists links a test; the links test finds those that lead
# nowhere. The list has an entry for each point.
set -euo pipefail
cd "$1"
# section FILE TITLE: the lines of a section
section() {
  awk -v title="$2" '/^## / { inside = $0 == "## " title; next } inside' "$1"
}
# points: each point of a list on one line
points() {
  awk '/^- / { if (text) print text; text = $0; next } /^  / { if (text) text = text " " $0; next } { if (text) print text; text = "" }
       END { if (text) print text }'
}
rows() {
  grep '^|' | tail -n +3
}
wrong=0 count=0
# expect_tests WHAT: each line of the input links a file of tests or tools
expect_tests() {
  while IFS= read -r line; do
    count=$((count + 1))
    grep -qE '\]\((\.\./)?(tests|tools|python/tests)[/)]' <<<"$line" || {
      echo "$1: no test: ${line:0:120}"
      wrong=1
    }
  done
}
expect_tests SECURITY.md < <(section SECURITY.md 'What Furrow promises' | points)
expect_tests SECURITY.md < <(section SECURITY.md 'The service' | points)
promised=$count
expect_tests 'SECURITY.md, limits' < <(section SECURITY.md Limits | rows)
before=$count
expect_tests docs/reliability.md < <(section docs/reliability.md 'Promises and their tests' | points)
[ "$promised" -gt 15 ] || { echo "SECURITY.md: only $promised points were found" && wrong=1; }
[ $((count - before)) -ge "$promised" ] || {
  echo "docs/reliability.md: $((count - before)) entries for $promised promises"
  wrong=1
}
exit $wrong
