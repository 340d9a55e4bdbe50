#!/bin/bash
# tests/cli/run.sh [--update] FURROW [CASE...]: runs the command as a user would and compares what it says.
#
# A case is cases/NAME.sh with what it must print: NAME.out, NAME.err (absent: nothing) and NAME.code (absent: 0). It runs
# in a folder of its own that holds a copy of data/, with `furrow` on the path. Prints ok or not ok for each case and
# exits with 1 if one failed. --update writes the expected files anew: look at the difference before you keep it.
update=
[ "$1" = --update ] && update=yes && shift
[ -x "$1" ] || { echo "usage: run.sh [--update] FURROW [CASE...]" >&2 && exit 2; }
# Signals that were ignored on entry (as in the background of a script) would be so in every case, and no shell can change it.
if [ -z "${FURROW_CLI_SIGNALS:-}" ] && env --default-signal=INT true 2>/dev/null; then
  FURROW_CLI_SIGNALS=default exec env --default-signal=HUP,INT,QUIT,TERM,PIPE bash "$0" ${update:+--update} "$@"
fi
here=$(cd "$(dirname "$0")" && pwd)
furrow=$(realpath "$1")
shift
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir "$top/bin"
ln -s "$furrow" "$top/bin/furrow"
export PATH=$top/bin:$PATH LC_ALL=C
failed=0

# What cases may use.
cat >"$top/prelude" <<'END'
# Runs a command and says its exit code, if it is not 0.
try() {
  "$@"
  local code=$?
  [ $code -eq 0 ] || echo "exit $code"
}
# Whether standard input is JSON; silent where nothing can tell.
is_json() {
  if [ -x /usr/bin/python3 ]; then /usr/bin/python3 -m json.tool >/dev/null; else cat >/dev/null; fi
}
END

# Prints how a file differs from what is expected; an expectation that is not there is an empty file.
differs() {
  local expected=$1
  [ -f "$expected" ] || expected=/dev/null
  ! diff -u --label expected --label found "$expected" "$2"
}

# Keeps a file as the expectation, or removes that when it would say nothing.
keep() {
  if [ -s "$1" ]; then cp "$1" "$2"; else rm -f "$2"; fi
}

run_case() {
  local name=$1 case=$here/cases/$1 work=$top/$1
  mkdir "$work"
  rm -f "$top/out" "$top/err" # what a process of the case before still writes is not of this one
  cp -r "$here/data/." "$work"
  (cd "$work" && bash -c '. "$1"; . "$2"' case "$top/prelude" "$case.sh" </dev/null) >"$top/out" 2>"$top/err"
  local code=$?
  : >"$top/code"
  [ $code -eq 0 ] || echo $code >"$top/code"
  rm -rf "$work"
  if [ -n "$update" ]; then
    for what in out err code; do keep "$top/$what" "$case.$what"; done
    return
  fi
  local wrong=
  for what in out err code; do
    differs "$case.$what" "$top/$what" >"$top/diff" && wrong=yes && sed "s/^/# $what: /" "$top/diff"
  done
  if [ -n "$wrong" ]; then
    echo "not ok - $name"
    failed=$((failed + 1))
  else
    echo "ok - $name"
  fi
}

cases=("$@")
[ ${#cases[@]} -gt 0 ] || for script in "$here"/cases/*.sh; do cases+=("$(basename "$script" .sh)"); done
for name in "${cases[@]}"; do run_case "$name"; done
[ "$failed" -eq 0 ]
