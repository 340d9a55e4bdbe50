#!/usr/bin/env bash
# tests/docs/check_links.sh: files and headings of the project that its documents link to are there.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0 count=0

# The name that a heading has in a link: lower case, - for blanks, no other signs.
names_of() {
  grep -E '^#+ ' "$1" | sed -E 's/^#+ +//' | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}

while IFS=: read -r page link; do
  link=${link#](} link=${link%)}
  case $link in http:* | https:*) continue ;; esac
  file=${link%%#*} place=${link#"$file"} place=${place#\#}
  if [ -n "$file" ]; then target=$(dirname "$page")/$file; else target=$page; fi
  count=$((count + 1))
  if [ ! -e "$target" ]; then
    echo "$page: $link leads nowhere" >&2
    bad=1
  elif [ -n "$place" ] && ! names_of "$target" | grep -qxF -- "$place"; then
    echo "$page: $link: no such heading" >&2
    bad=1
  fi
done < <(tools/tree.sh files | grep '\.md$' | xargs grep -oHE '\]\([^) ]+\)')
[ $bad = 0 ] && echo "$count links lead somewhere"
exit $bad
