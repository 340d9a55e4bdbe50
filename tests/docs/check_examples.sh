#!/bin/bash
# tests/docs/check_examples.sh [--update] PAGE.md...: runs the examples of a page and compares what they print.
#
#   ```console       A line "$ command" is run by bash, all of a page in one folder. What follows it, up to the next one,
#                    is what it must print, on standard error too, and "(exit N)" when it ends with N. A command whose
#                    line ends with \ goes on in the next line.
#   ```rows OPTIONS  A line "text => rows" is `furrow rows dump OPTIONS -` on that text, with \n, \t, \xff … as printf %b
#                    reads them: its output in one line, rows with / between them, errors and notes by their column.
#   ```c             A program that begins with "/* NAME.c: " is compiled to ./NAME.
#
# Other blocks are left alone, and so are commands that begin with ./NAME or build/… where these cannot be had: no
# compiler, a build without the examples or with a sanitizer. Needs furrow on the path; FURROW_BUILD is its build. Prints
# ok or not ok for each page, and exits with 1 if one is not as it says. --update writes what was found into the page
# instead: look at the difference before you keep it.
update=
[ "$1" = --update ] && update=yes && shift
if [ $# -eq 0 ] || ! command -v furrow >/dev/null; then
  echo "usage: check_examples.sh [--update] PAGE.md... (with furrow on the path)" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${FURROW_BUILD:-$(dirname "$(realpath "$(command -v furrow)")")}
export LC_ALL=C
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
failed=0

compile() {
  local name cc=${CC:-cc}
  name=$(sed -n '1s,^/\* \([a-z0-9_]*\)\.c: .*,\1,p' "$1")
  [ -n "$name" ] && command -v "$cc" >/dev/null || return 0
  "$cc" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$root/include" "$1" || return 1
  # with a sanitizer or for coverage, the library needs more than it says
  grep -q '^FURROW_SANITIZE:STRING=$' "$build/CMakeCache.txt" 2>/dev/null || return 0
  ! grep -q '^CMAKE_BUILD_TYPE:STRING=Coverage$' "$build/CMakeCache.txt" || return 0
  "$cc" -std=c11 -I"$root/include" "$1" "$build/libfurrow.a" -lz -lzstd -lxxhash -pthread -lm -o "$name"
}

run() {
  bash -c "$1" 2>&1 </dev/null
  local code=$?
  [ $code -eq 0 ] || echo "(exit $code)"
}

can_run() {
  local program=${1%% *}
  case $program in
  ./* | build/*) [ -x "$program" ] ;;
  esac
}

# "text => rows" with the rows that the text gives under the options of the block
dump() {
  set -f # options hold ?, and this is a subshell
  local text=${1%%=>*} options=$2 rows
  [[ " $options" == *" -"[?\ ]* || $options == *" -" ]] || options="$options -"
  rows=$(printf '%b\n' "${text%"${text##*[! ]}"}" | furrow rows dump $options 2>&1 | sed '
    s/^furrow: note: 1 piece of meaningless text was skipped: -:/ignored at /
    s/^furrow: -:/at /
    s/at 1:\([0-9]*\): /at column \1: /
    s/at \([0-9]*\):\([0-9]*\): /at line \1, column \2: /
    s/^furrow: //')
  echo "$text=> ${rows//$'\n'/ / }"
}

# Reads a page and prints it as it should be.
walk() {
  local line next block='' options='' printed=''
  while IFS= read -r line || [ -n "$line" ]; do
    case $block:$line in
    '':'```console') block=console printed='' ;;
    '':'```rows '*) block=rows options=${line#* } ;;
    '':'```c') block=c && : >"$top/block.c" ;;
    '':'```'*) block=other ;;
    c:'```') block='' && compile "$top/block.c" || echo "(does not compile)" ;;
    *:'```') block='' ;;
    c:*) echo "$line" >>"$top/block.c" ;;
    rows:*'=>'*) line=$(dump "$line" "$options") ;;
    console:'$ '*)
      while [[ $line == *\\ ]] && IFS= read -r next; do line+=$'\n'$next; done
      echo "$line"
      printed=
      can_run "${line#\$ }" && run "${line#\$ }" && printed=yes
      continue
      ;;
    console:*) [ -z "$printed" ] || continue ;;
    esac
    echo "$line"
  done
}

for page in "$@"; do
  rm -rf "$top/page"
  mkdir "$top/page"
  ln -s "$build" "$top/page/build"
  ln -s "$root/examples" "$top/page/examples"
  (cd "$top/page" && walk) <"$page" >"$top/found"
  name=${page#"$root"/}
  if [ -n "$update" ]; then
    cmp -s "$top/found" "$page" || cp "$top/found" "$page"
  elif diff -u --label "$name" --label found "$page" "$top/found" >"$top/diff"; then
    echo "ok - $name"
  else
    sed 's/^/# /' "$top/diff"
    echo "not ok - $name"
    failed=1
  fi
done
exit $failed
