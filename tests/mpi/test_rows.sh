#!/usr/bin/env bash
# tests/mpi/test_rows.sh BUILD: the row commands over ranks write the bytes of one process, report its figures, and fail
# as it does. MPI=mpich for MPICH.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # of MPI
. "$here/mpi_setup.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
furrow=$build/furrow
host=$(hostname)

# Runs the command as one process or several: its code in $code, what it wrote in out and err.
run() {
  local ranks=$1
  shift
  if [ "$ranks" = 1 ]; then
    "$furrow" "$@" >"$work/out" 2>"$work/err"
  else
    "$here/run_ranks.sh" "$ranks" "$furrow" "$@" >"$work/out" 2>"$work/err" </dev/null
  fi
  code=$?
}
# same ARGUMENT…: runs it with 1 to 4 ranks, with @ replaced by their number, and compares what is at @ and on stdout, without
# what says how fast it was.
same() {
  for ranks in 1 ${ranks_to_try:-2 3 4}; do
    rm -rf "$ranks"
    mkdir "$ranks"
    run "$ranks" "${@//@/$ranks}"
    expect "$code" = 0
    grep -v -e seconds -e 'MB per second' -e mb_per -e '^ranks ' -e '"ranks"' out | sed "s:\b$ranks/:@/:" >"$ranks/printed"
    cp err "$ranks/said"
    [ "$ranks" = 1 ] || expect "$(diff -r 1 "$ranks" && echo same)" = same
  done
}
# fails CODE MESSAGE ARGUMENT…: fails in the same way with 1, 2 and 4 ranks, and leaves no file.
fails() {
  local wanted=$1 message=$2
  shift 2
  for ranks in 1 2 4; do
    rm -rf "$ranks"
    mkdir "$ranks"
    run "$ranks" "${@//@/$ranks}"
    expect "$code" = "$wanted"
    expect "$(grep -c '^furrow: ' err)" = 1
    expect "$(grep '^furrow: ' err | sed 's/^furrow: rank [0-9]* of [0-9]* ([^)]*): /furrow: /')" = "furrow: $message"
    expect "$(ls -A "$ranks")" = ""
  done
}
# refuses CODE MESSAGE ARGUMENT…: only several ranks fail.
refuses() {
  local wanted=$1 message=$2
  shift 2
  run 3 "$@"
  expect "$code" = "$wanted"
  expect "$(grep '^furrow: ' err)" = "furrow: $message"
}

# ---- Data with fixed seeds ----
draw='function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }; '
awk "$draw"'BEGIN { r = 7; for (i = 0; i < 3000; i++) { line = int(3 * draw()) " qid:" int(i / 7);
  for (k = int(5 * draw()); k < 500; k += 1 + int(80 * draw())) line = line " " k ":" 10 * draw(); print line } }' >qid.libsvm
awk "$draw"'BEGIN { r = 8; for (i = 0; i < 2000; i++) { line = draw() ":" draw();
  for (k = int(5 * draw()); k < 40; k += 1 + int(9 * draw())) line = line " " k ":" 10 * draw() - 5; print line } }' >weight.libsvm
awk "$draw"'BEGIN { r = 9; for (i = 0; i < 900; i++) { line = int(2 * draw());
  for (k = 0; k < 5; k++) line = line " " k ":" int(1000 * draw()) ":1"; print line } }' >fields.ffm
awk "$draw"'BEGIN { r = 10; print "clicked,age,\"height, cm\""; for (i = 0; i < 1500; i++)
  print int(2 * draw()) "," int(90 * draw()) "," 150 + 50 * draw() }' >named.csv
# 3 MB: several pieces of 512 KiB
awk "$draw"'BEGIN { r = 11; print "userId,movieId,rating,timestamp,price,genres"; split("a b c d e", g, " ");
  for (i = 0; i < 80000; i++) print 1 + int(900 * draw()) "," 1 + int(3000 * draw()) "," int(2 * draw()) "," \
    1500000000 + int(1e6 * draw()) "," 20 * draw() "," g[1 + int(5 * draw())] "|" g[1 + int(5 * draw())] }' >log.csv
head -n 700 log.csv | awk -F, 'NR > 1 { print "{\"user\": \"u" $1 "\", \"item\": " $2 ", \"click\": " $3 \
  (NR > 600 ? ", \"late\": \"x" $1 % 5 "\"" : "") "}" }' >log.jsonl
awk -F, 'NR < 2000 { print (NR == 1 ? "label,text" : $3 ",\"two\n" "lines " $1 "\"") }' log.csv >quoted.csv
printf '1 1:2\n0 3:4\n' >two.libsvm
: >none.libsvm
mkdir many
split -n l/3 qid.libsvm many/part-
gzip -k many/part-aa

echo "== info"
same rows info --json qid.libsvm
same rows info --json --chunk 4KiB qid.libsvm
same rows info --json weight.libsvm
same rows info fields.ffm
same rows info --json named.csv
ranks_to_try=3
same rows info --json --value i64 --index u64 --chunk 1KiB two.libsvm
same rows info --json --chunk 2KiB 'many/*'
same rows info none.libsvm
same rows info --json --chunk 3KiB 'qid.libsvm?indexing_mode=-1'

echo "== convert"
ranks_to_try=
same rows convert weight.libsvm @/out.csv
same rows convert qid.libsvm @/out.libsvm --index-base 1
same rows convert named.csv @/out.csv --to csv
ranks_to_try=3
same rows convert named.csv @/out.csv --json --columns 3 --zeros
same rows convert fields.ffm @/out.ffm
same rows convert 'many/*' @/out.cache
same rows convert two.libsvm @/out.csv --header
same rows convert none.libsvm @/out.csv --header --columns 2
same rows convert none.libsvm @/out.cache
rm -f whole.cache && "$furrow" rows convert qid.libsvm whole.cache >/dev/null
same rows convert whole.cache @/out.libsvm
same rows info --json whole.cache
ranks_to_try=4
same rows convert two.libsvm @/out.libffm

echo "== a bad row: skipped, or the error of one process"
sed '2500s/.*/1 7:x/; 2700s/.*/1 y/' qid.libsvm >bad.libsvm
same rows convert bad.libsvm @/out.libsvm --on-bad skip
same rows info bad.libsvm --on-bad skip
fails 5 'bad.libsvm:2500:3: the value is not a number (7:x)' rows convert bad.libsvm @/out.libsvm
fails 5 'bad.libsvm:2500:3: the value is not a number (7:x)' rows info bad.libsvm
gzip -k bad.libsvm
fails 5 'bad.libsvm.gz:2500:3: the value is not a number (7:x)' rows convert 'qid.libsvm;bad.libsvm.gz' @/out.cache

echo "== a file for each rank"
run 3 rows convert qid.libsvm own.libsvm --per-rank
expect "$code" = 0
"$furrow" rows convert qid.libsvm one.libsvm >/dev/null
expect "$(cat own-0000?-of-00003.libsvm | cmp - one.libsvm && echo same)" = same

echo "== what several ranks cannot do"
refuses 2 "3 ranks cannot write to standard output together" rows convert qid.libsvm - --to libsvm
refuses 2 "standard input cannot be divided among 3 ranks" rows convert - x.libsvm
refuses 2 "standard input cannot be divided among 3 ranks" rows info -
refuses 2 "standard input cannot be divided among 3 ranks" rows schema -
refuses 2 "--part cannot be used with 3 ranks, each of which reads its own part" rows info qid.libsvm --part 0/2
expect -z "$(ls x.libsvm 2>/dev/null)"

echo "== a file that is there stays, unless it may be replaced"
echo old >there.libsvm
refuses 11 "there.libsvm: exists already" rows convert qid.libsvm there.libsvm
expect "$(cat there.libsvm)" = old
run 3 rows convert qid.libsvm there.libsvm --force
expect "$(cmp there.libsvm one.libsvm && echo same)" = same
refuses 3 "nowhere/x.libsvm: cannot open its directory: No such file or directory" rows convert qid.libsvm nowhere/x.libsvm

echo "== a write that fails"
mkdir full
# a rank's own rows are too many for the limit; then only what ranks put behind those of the others
for limit in 9000 20000; do
  "$here/run_ranks.sh" 3 bash -c 'ulimit -f "$0" && exec "$@"' $limit "$furrow" rows convert weight.libsvm \
    full/x.csv --columns 8000 --zeros --with-weight >out 2>err </dev/null
  expect $? = 4
  expect "$(grep -c '^furrow: .*full/x.csv: cannot write: File too large' err)" = 1
done
expect "$(ls -A full)" = ""

echo "== schema"
ranks_to_try=
same rows schema log.csv --json
ranks_to_try=3
same rows schema log.csv
same rows schema log.jsonl --json
same rows schema quoted.csv --json
same rows schema named.csv --json --out @/schema.json

echo "== encode"
cat >schema.json <<'END'
{"columns": {"rating": {"as": "label"}, "userId": {"as": "category", "role": "user"},
 "movieId": {"as": "category", "role": "item", "min_count": 20}, "timestamp": {"as": "time", "parts": ["hour", "weekday"]},
 "price": {"as": "number", "scale": "standard"}, "genres": {"as": "set", "separator": "|"}}}
END
sed 's/"scale": "standard"/"scale": "bins", "bins": 7/' schema.json >bins.json
ranks_to_try=
same rows encode log.csv --schema schema.json --out @/out.ffm --dictionary @/names
ranks_to_try=3
same rows encode log.csv --schema bins.json --out @/out.ffm --dictionary @/names
same rows encode log.csv --schema auto --out @/out.cache --dictionary @/names
same rows encode log.jsonl --schema auto --label click --out @/out.libsvm --dictionary @/names
same rows encode quoted.csv --schema auto --out @/out.ffm --dictionary @/names
cp -r 1/names names
same rows encode quoted.csv --dictionary names --out @/again.ffm
gzip -kc log.csv >log.csv.gz
same rows encode 'log.csv.gz' log.csv --schema bins.json --out @/out.ffm --dictionary @/names
sed '70000s/[^,]*$/a/; 70000s/,[01],/,2x,/' log.csv >bad.csv
fails 5 'bad.csv:70000:'"$(sed -n 70000p bad.csv | awk -F, '{ print length($1) + length($2) + 3 }')"': column rating: not a number (2x)' \
  rows encode bad.csv --schema schema.json --out @/out.ffm --dictionary @/names

echo "== split"
ranks_to_try=
same rows split log.csv --user userId --time timestamp --last 0.2 --out @/
ranks_to_try=3
same rows split log.csv --time timestamp --last 500 --out @/ --json
same rows split log.csv --group userId --fractions 0.7,0.2,0.1 --seed 3 --out @/
same rows split log.csv --fractions 0.5,0.5 --out @/new/
same rows split quoted.csv --fractions 0.5,0.5 --out @/
same rows split qid.libsvm --fractions 0.8,0.1,0.1 --out @/
same rows split weight.libsvm --fractions 0.8,0.2 --to csv --out @/
ranks_to_try=4
printf 'u,t\na,1\na,2\nb,5\nb,4\n' >tiny.csv
same rows split tiny.csv --user u --time t --last 1 --out @/
printf 'u,t\na,2020-01-01\na,2020-01-02\nb,5\nb,2020-01-04\n' >mixed.csv
fails 5 'mixed.csv:4:3: column t: not a date, as the first one is (5)' \
  rows split mixed.csv --user u --time t --last 1 --out @/

conclude
