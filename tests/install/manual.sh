#!/usr/bin/env bash
# tests/install/manual.sh FURROW: the pages of the manual: one for each command, without complaints of groff and mandoc,
# and with every option that --help has. A program that is not installed is skipped by name.
set -uo pipefail
furrow=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 MANWIDTH=100
bad=0
complain() {
  echo "$*"
  bad=1
}

mkdir "$work/man1"
"$furrow" man "$work/man1" || exit 1
"$furrow" man "$work/man1" 2>/dev/null && complain "pages are replaced without --force"
"$furrow" man --force "$work/man1" || complain "pages are not replaced with --force"

# every command has a page, with what its help has
pages=0
check_page() {
  local page=$work/man1/furrow${1:+-}${1// /-}.1 option
  [ -f "$page" ] || { complain "no page for 'furrow $1'"; return; }
  pages=$((pages + 1))
  "$furrow" $1 --help >"$work/help"
  sed 's/\\-/-/g' "$page" >"$work/page"
  for option in $(grep -oE '^ +(-[A-Za-z], )?--[a-z0-9-]+' "$work/help" | grep -oE -- '--[a-z0-9-]+'); do
    grep -qE "^\.B (-[A-Za-z], )?$option( |$)" "$work/page" || complain "$(basename "$page") does not have $option"
  done
  for below in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/help"); do check_page "${1:+$1 }$below"; done
}
check_page ''
[ "$(ls "$work/man1" | wc -l)" = $pages ] || complain "there are pages without a command"

if command -v man >/dev/null && command -v groff >/dev/null; then
  for page in "$work"/man1/*; do man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | sed "s,^,$(basename "$page"): ,"; done >"$work/said"
  [ ! -s "$work/said" ] || { cat "$work/said"; bad=1; }
else
  echo "groff: skipped, man or groff is not installed"
fi
if command -v mandoc >/dev/null; then
  # pages have no date: the same sources make the same bytes
  mandoc -T lint -W warning "$work"/man1/* 2>&1 | grep -v 'missing date' >"$work/said"
  [ ! -s "$work/said" ] || { cat "$work/said"; bad=1; }
else
  echo "mandoc: skipped, not installed"
fi
[ $bad = 0 ] && echo "$pages pages"
exit $bad
