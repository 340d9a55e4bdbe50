#!/bin/bash
# tests/cli/golden_dmlc.sh FURROW FOLDER: what `rows dump` makes of the inputs that dmlc-core was given, beside what
# dmlc-core made of them. A case with `bug=` in its .args is one where dmlc-core is arguably wrong: there the command
# must only end orderly. Prints ok or not ok for each case; exits with 1 if one failed.
furrow=$(realpath "$1")
folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# Cases without bug= where Furrow deliberately differs: name, and why.
declare -A differs=()
while read -r name why; do
  [ -n "$name" ] && [ "${name:0:1}" != "#" ] && differs[$name]=$why
done <"$(dirname "$0")/golden_dmlc.differs"

say() {
  echo "$1 - golden $2${3:+ ($3)}"
  [ "$1" = ok ] || failed=$((failed + 1))
}

get() {
  sed -n "s/^$2=//p" "$folder/$1.args" | head -n 1
}

run_case() {
  local name=$1 uri api tmp=$work/$1
  mkdir -p "$tmp"
  uri=$(get "$name" uri)
  uri=${uri//"{IN}"/$folder/$name.in}
  uri=${uri//"{TMP}"/$tmp}
  api=$(get "$name" api)
  [ "$api" = iter ] || api=parser
  local input=/dev/null
  [ "$uri" = stdin ] && input=$folder/$name.in
  "$furrow" rows dump --format "$(get "$name" format)" --index "$(get "$name" index)" --value "$(get "$name" dtype)" \
    --part "$(get "$name" part)" --api "$api" --quiet "$uri" <"$input" >"$tmp/out" 2>"$tmp/err"
}

check_case() {
  local name=$1 code=$2 expected=$folder/$1.out tmp=$work/$1
  [ -f "$folder/$name.exact" ] && expected=$folder/$name.exact
  if [ "$code" -gt 12 ] || [ "$code" -eq 1 ]; then
    say "not ok" "$name" "exit code $code"
  elif grep -q '^bug=' "$folder/$name.args"; then
    say ok "$name" "a bug of dmlc-core; exit code $code"
  elif [ -n "${differs[$name]}" ]; then
    say ok "$name" "differs: ${differs[$name]}"
  elif grep -qE '^(ERROR|CRASH)' "$expected"; then
    [ "$code" -ne 0 ] && say ok "$name" || say "not ok" "$name" "an error was expected"
  elif [ "$code" -eq 0 ] && cmp -s "$expected" "$tmp/out"; then
    say ok "$name"
  else
    say "not ok" "$name" "exit code $code: $(head -n 1 "$tmp/err")"
    diff "$expected" "$tmp/out" | head -n 6
  fi
}

for args in "$folder"/*.args; do
  name=$(basename "$args" .args)
  case $(get "$name" api) in
  parser | iter | stdin | "") ;;
  *) echo "ok - golden $name # skip: api $(get "$name" api)" && continue ;;
  esac
  run_case "$name"
  check_case "$name" $?
done
[ "$failed" -eq 0 ]
