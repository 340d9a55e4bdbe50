#!/bin/bash
# tests/cli/golden_angel.sh FURROW FOLDER: what the model commands make of matrix folders that Angel wrote. For each case:
#
#   dump       prints expected.tsv, with the separator given and found by itself. Text formats have floats in the digits
#              that Angel wrote; there expected.tsv is first rounded to floats, as `rows dump` prints them
#   verify     finds nothing
#   convert    without options is the same folder, byte for byte
#   convert    to the next format of the same case is what Angel wrote in that format, byte for byte; to every other
#              format with FURROW_FULL=1
#   import     of original.tsv with the settings of the case is what Angel wrote, byte for byte
#
# Prints ok or not ok for each case; exits with 1 if one failed.
furrow=$(realpath "$1")
folder=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
export LC_ALL=C

say() {
  echo "$1 - golden $2${3:+ ($3)}"
  [ "$1" = ok ] || failed=$((failed + 1))
}

# The value of a text member of case.json.
get() {
  sed -n "s/^ *\"$2\": \"\(.*\)\",\$/\1/p" "$folder/$1/case.json"
}

# The same for a number, and for a list of numbers without its brackets.
get_number() {
  sed -n "s/^ *\"$2\": \[\?\([-0-9, ]*\)\]\?,\$/\1/p" "$folder/$1/case.json"
}

# Copies what belongs to the matrix: not what describes the case, and not what the servers left.
matrix_of() {
  mkdir -p "$2"
  for file in "$folder/$1"/*; do
    case ${file##*/} in
    case.json | expected.tsv | original.tsv | psmeta*) ;;
    *) cp "$file" "$2" ;;
    esac
  done
}

# expected.tsv with every value rounded to a float
as_floats() {
  cut -f3 "$1" | sed 's/NaN/nan/; s/Infinity/inf/; s/^/0 1:/' | "$furrow" rows dump --format libsvm - |
    sed 's/.*://; s/nan/NaN/; s/inf/Infinity/' | paste <(cut -f1,2 "$1") -
}

check_dump() {
  local name=$1 expected=$folder/$1/expected.tsv
  if [[ $(get "$name" rowType) == T_FLOAT_* ]]; then
    as_floats "$expected" >"$work/expected"
  else
    cp "$expected" "$work/expected"
  fi
  for options in "" "--sep=$(get "$name" separator)"; do
    "$furrow" model dump ${options:+"$options"} "$folder/$name" >"$work/found" 2>"$work/err" &&
      cmp -s "$work/expected" "$work/found" && continue
    say "not ok" "$name" "dump $options: $(cat "$work/err")"
    diff "$work/expected" "$work/found" | head -n 4
    return 1
  done
}

check_copy() {
  rm -rf "$work/copy"
  "$furrow" model convert -q "$folder/$1" "$work/copy" >/dev/null 2>"$work/err" &&
    diff -r "$folder/$1" "$work/copy" >"$work/diff" 2>&1 && return 0
  say "not ok" "$1" "convert without options: $(cat "$work/err" "$work/diff" | head -n 2)"
  return 1
}

check_verify() {
  "$furrow" model verify "$work/matrices/$1" >"$work/found" 2>&1 && return 0
  say "not ok" "$1" "verify: $(head -n 1 "$work/found")"
  return 1
}

# Whether the format keeps all that the case had.
is_whole() {
  local format type
  format=$(get "$1" format)
  type=$(get "$1" rowType)
  case $format:$type in
  RowIdColIdValueTextRowFormat:T_DOUBLE*) return 1 ;;
  RowId* | ColId*) return 0 ;;
  SnapshotFormat:*) return 1 ;;
  *:*_DENSE) return 0 ;;
  *) return 1 ;;
  esac
}

# Whether Angel wrote the elements of a case in another format, too: the names differ in the format alone.
is_relative() {
  local from=$1 relative=$2 format
  [ -f "$folder/$relative/case.json" ] || return 1
  format=$(get "$relative" format)
  [ "${relative/"$format"/}" = "${from/"$(get "$from" format)"/}" ] && [ "$format" != SnapshotFormat ] &&
    cmp -s "$folder/$from/original.tsv" "$folder/$relative/original.tsv"
}

# The relatives of a case: all with FURROW_FULL=1, else the one that comes after it by name, or the first one after the
# last, so that every case is read once and written once.
relatives_of() {
  local from=$1 relative first= found=
  for relative in "$folder"/${from/"$(get "$from" format)"/*}; do
    relative=${relative##*/}
    is_relative "$from" "$relative" || continue
    [ -z "${FURROW_FULL:-}" ] || echo "$relative"
    [ -n "$first" ] || first=$relative
    [ -n "$found" ] || [[ ! $relative > $from ]] || found=$relative
  done
  [ -n "${FURROW_FULL:-}" ] || echo "${found:-$first}"
}

# Converts a case to the formats of its relatives.
check_formats() {
  local from=$1 relative
  conversions=0
  is_whole "$from" || return 0
  for relative in $(relatives_of "$from"); do
    rm -rf "$work/copy"
    conversions=$((conversions + 1))
    "$furrow" model convert -q --angel-bytes --format "$(get "$relative" format)" --sep "$(get "$relative" separator)" \
      "$work/matrices/$from" "$work/copy" >/dev/null 2>"$work/err" &&
      diff -r "$work/matrices/$relative" "$work/copy" >"$work/diff" 2>&1 && continue
    say "not ok" "$from" "convert to $relative: $(cat "$work/err" "$work/diff" | head -n 2)"
    return 1
  done
}

# Imports original.tsv as the case describes the matrix.
check_import() {
  local name=$1 options pair rows parts
  [ "$(get "$name" format)" = SnapshotFormat ] && return 0
  options=(--angel-bytes --name "$(get "$name" matrixName)" --matrix-id "$(get_number "$name" matrixId)"
    --format "$(get "$name" format)" --row-type "$(get "$name" rowType)" --sep "$(get "$name" separator)"
    --rows "$(get_number "$name" rows)" --cols "$(get_number "$name" cols)" --servers "$(get_number "$name" psNumber)"
    --parts-per-file "$(get_number "$name" maxPartitionsPerFile)")
  parts=$(get_number "$name" partitions)
  if [ "$(get "$name" partitioner)" = HashPartitioner ]; then
    options+=(--hash "$parts")
  else
    options+=(--part-rows "$(get_number "$name" blockRow)" --part-cols "$(get_number "$name" blockCol)")
  fi
  rows=$(get_number "$name" saveRows)
  [ -z "$rows" ] || options+=(--saved-rows "${rows// /}")
  while IFS= read -r pair; do
    options+=(--attribute "$(printf '%b' "$(sed 's/^"//; s/"$//; s/": "/=/; s/\\"/"/g' <<<"$pair")")")
  done < <(grep '"attributes"' "$folder/$name/case.json" | cut -d: -f2- | grep -oE '"([^"\\]|\\.)*": "([^"\\]|\\.)*"')
  rm -rf "$work/copy"
  "$furrow" model import -q --from tsv "$folder/$name/original.tsv" "$work/copy" "${options[@]}" >/dev/null 2>"$work/err" &&
    diff -r "$work/matrices/$name" "$work/copy" >"$work/diff" 2>&1 && return 0
  say "not ok" "$name" "import of original.tsv: $(cat "$work/err" "$work/diff" | head -n 2)"
  return 1
}

names=()
for case in "$folder"/*/case.json; do
  name=${case%/case.json}
  name=${name##*/}
  names+=("$name")
  matrix_of "$name" "$work/matrices/$name"
done
for name in "${names[@]}"; do
  check_dump "$name" && check_copy "$name" && check_verify "$name" && check_formats "$name" && check_import "$name" &&
    say ok "$name" "conversions: $conversions"
done

# Models from a cluster, where there are some, with all that is in their directories.
for model in "$folder"/real_models/*/; do
  [ -d "$model" ] || continue
  name=real_models/$(basename "$model")
  rm -rf "$work/copy"
  if ! "$furrow" model verify "$model" >"$work/found" 2>&1; then
    say "not ok" "$name" "verify: $(head -n 1 "$work/found")"
  elif "$furrow" model convert -q "$model" "$work/copy" >/dev/null 2>"$work/err" && diff -r "$model" "$work/copy"; then
    say ok "$name"
  else
    say "not ok" "$name" "convert without options: $(cat "$work/err")"
  fi
done
[ "$failed" -eq 0 ]
