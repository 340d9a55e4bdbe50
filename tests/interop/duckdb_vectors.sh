#!/bin/bash
# tests/interop/duckdb_vectors.sh FURROW: vectors in columns of Parquet files, databases and queries give the index that a file of the same numbers gives.
# Exit code 77: there is no library of DuckDB (tools/fetch.sh duckdb build/duckdb fetches it).
furrow=$(realpath "$1")
run=$FURROW_BUILD/tests/duckdb_run
export FURROW_DUCKDB=${FURROW_DUCKDB:-$FURROW_BUILD/duckdb/libduckdb.so}
[ -f "$FURROW_DUCKDB" ] || { echo "skipped: $FURROW_DUCKDB is not there; tools/fetch.sh duckdb build/duckdb fetches it"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() {
  echo "failed: $*"
  exit 1
}
# refused CODE TEXT COMMAND …: the command fails with this code and says the text
refused() {
  local code=0 wanted=$1 text=$2
  shift 2
  "$@" >refused.out 2>refused.err || code=$?
  [ $code = "$wanted" ] && grep -qF -e "$text" refused.err || { cat refused.err && fail "code $code of $*"; }
}

# ---- 5,000 vectors of 12 numbers, as text, as plain floats, and in tables ----

vectors="SELECT i, 7 * i + 3 AS id, 'item ' || i AS title, struct_pack(v := v) AS inner, v AS embedding, v::DOUBLE[] AS doubles,
  v::FLOAT[12] AS fixed, list_transform(v, x -> (x * 10000)::INT) AS whole, v::DECIMAL(9, 4)[] AS decimals
  FROM (SELECT i, list_transform(range(12), k -> round((hash(i * 12 + k) % 20001)::DOUBLE / 10000 - 1, 4)::FLOAT) AS v FROM range(5000) t(i)) ORDER BY i"
DATABASE=emb.duckdb "$run" "CREATE TABLE emb AS $vectors" || fail DuckDB
"$run" "ATTACH 'emb.duckdb' AS d (READ_ONLY)" "CREATE VIEW emb AS FROM d.emb" \
  "COPY (SELECT array_to_string(embedding, ',') AS line FROM emb ORDER BY i) TO 'lines.txt' (HEADER false, QUOTE '')" \
  "COPY (SELECT id FROM emb ORDER BY i) TO 'ids.txt' (HEADER false)" "COPY (SELECT title FROM emb ORDER BY i) TO 'titles.txt' (HEADER false)" \
  "COPY (FROM emb ORDER BY i) TO 'emb.parquet' (ROW_GROUP_SIZE 2048)" \
  "COPY (SELECT id, title, embedding FROM emb WHERE i < 1900 ORDER BY i) TO 'part1.parquet'" \
  "COPY (SELECT id, title, embedding FROM emb LIMIT 0) TO 'part2.parquet'" \
  "COPY (SELECT title, embedding::DOUBLE[] AS embedding, id::UTINYINT::UBIGINT AS id FROM emb LIMIT 0) TO 'part3.parquet'" \
  "COPY (SELECT title, id::INT AS id, embedding FROM emb WHERE i >= 1900 ORDER BY i) TO 'part4.parquet'" || fail DuckDB
python3 -c "import struct
rows = [list(map(float, line.split(','))) for line in open('lines.txt')]
open('emb.f32', 'wb').write(b''.join(struct.pack('<12f', *row) for row in rows))
open('whole.f32', 'wb').write(b''.join(struct.pack('<12f', *(round(x * 10000) for x in row)) for row in rows))" || fail python3

build=("$furrow" index build --nlist 16 --m 4 -q --seed 7)
"${build[@]}" --base emb.f32 --dim 12 --out plain.index >/dev/null || fail "plain floats"
"${build[@]}" --base emb.f32 --dim 12 --ids ids.txt --out ids.index >/dev/null || fail ids
"${build[@]}" --base emb.f32 --dim 12 --ids titles.txt --out titles.index >/dev/null || fail titles
# same NAME OPTION …: the index of these vectors
same() {
  local wanted=$1
  shift
  "${build[@]}" "$@" --out own.index >/dev/null || fail "build $*"
  cmp "$wanted.index" own.index || fail "the index of $*"
  [ ! -e "$wanted.index.names" ] || cmp "$wanted.index.names" own.index.names || fail "the names of $*"
  rm own.index*
}
for column in embedding doubles fixed inner.v decimals; do
  same plain --base emb.parquet --column $column
done
same plain --base 'part*.parquet'
same ids --base emb.parquet --column embedding --ids id
same ids --base 'part*.parquet' --ids id --threads 2
mkdir parts
cp part*.parquet parts
same ids --base parts --kind parquet --ids id
same ids --base emb.parquet --column doubles --ids ids.txt
same titles --base emb.parquet --column embedding --ids title
same titles --base emb.parquet --column embedding --names title
same ids --sql "SELECT embedding, id FROM emb ORDER BY i;" --database emb.duckdb --ids id
same ids --sql "SELECT fixed, id::HUGEINT AS id FROM emb ORDER BY i -- in order" --database emb.duckdb --ids id
same titles --sql "SELECT fixed AS v, title::VARCHAR AS title FROM emb ORDER BY i" --database emb.duckdb --ids title
"$furrow" index build --base emb.parquet --column embedding --out chosen.index -q >/dev/null || fail "a chosen index"
"$furrow" index build --base emb.f32 --dim 12 --out chosen2.index -q >/dev/null && cmp chosen.index chosen2.index || fail "the chosen index"
"$furrow" index build --sql "SELECT embedding FROM emb ORDER BY i" --database emb.duckdb --out chosen3.index -q >/dev/null && cmp chosen.index chosen3.index ||
  fail "the chosen index of a query"

# ---- Adding, searching, clusters, recall ----

"${build[@]}" --base part1.parquet --ids id --out own.index >/dev/null && cp own.index other.index || fail "the first part"
"$furrow" index add own.index --base part4.parquet --ids id -q >/dev/null || fail add
tail -n +1901 ids.txt >rest.txt
tail -c +$((1900 * 48 + 1)) emb.f32 >rest.f32
"$furrow" index add other.index --base rest.f32 --dim 12 --ids rest.txt -q >/dev/null && cmp own.index other.index || fail "the index that was added to"
"$furrow" index search ids.index emb.f32 --dim 12 -k 3 >plain.found || fail search
"$furrow" index search ids.index emb.parquet --column doubles -k 3 >own.found && cmp plain.found own.found || fail "search with Parquet"
"$furrow" index search ids.index --sql "SELECT embedding FROM emb ORDER BY i" --database emb.duckdb -k 3 >own.found && cmp plain.found own.found ||
  fail "search with SQL"
# the table of results has what is printed
"$furrow" index search ids.index part1.parquet -k 3 --out found.parquet >/dev/null || fail "search to Parquet"
"$furrow" index search ids.index part1.parquet -k 3 --json >plain.json || fail "search as JSON"
"$run" "COPY (SELECT count(*) FROM (SELECT q.query AS query, unnest(q.ids) AS id, unnest(q.distances) AS d, generate_subscripts(q.ids, 1) AS rank
  FROM (SELECT unnest(queries) AS q FROM read_json('plain.json'))) AS plain JOIN 'found.parquet' AS own USING (query, id, rank) WHERE own.distance = d::FLOAT) TO 'counted' (HEADER false)" ||
  fail DuckDB
[ "$(cat counted)" = 5700 ] || fail "the table of results: $(cat counted)"
"$furrow" index search titles.index part1.parquet -k 2 --out named.parquet >/dev/null || fail "search to Parquet with names"
"$run" "COPY (SELECT column_name, column_type FROM (DESCRIBE FROM 'named.parquet')) TO 'types' (HEADER false)" \
  "COPY (SELECT count(*) FROM 'named.parquet' WHERE name = 'item ' || id) TO 'counted' (HEADER false)" || fail DuckDB
[ "$(tr '\n' ' ' <types)" = "query,BIGINT rank,BIGINT id,BIGINT name,VARCHAR distance,FLOAT " ] && [ "$(cat counted)" = 3800 ] || fail "the names of the results"
refused 11 'named.parquet: ' "$furrow" index search titles.index part1.parquet -k 2 --out named.parquet
refused 2 'does not end in .parquet' "$furrow" index search titles.index part1.parquet --out named.csv

"$furrow" index kmeans emb.f32 --dim 12 --k 8 --out plain.npy -q >/dev/null && "$furrow" index kmeans emb.parquet --column fixed --k 8 --out own.npy -q >/dev/null &&
  cmp plain.npy own.npy || fail k-means
"$furrow" index kmeans emb.parquet --column whole --k 8 --out own2.npy -q >/dev/null && "$furrow" index kmeans whole.f32 --dim 12 --k 8 --out whole.npy -q >/dev/null &&
  cmp own2.npy whole.npy || fail "integers"
"$furrow" index recall ids.index part1.parquet --base emb.parquet --column embedding --ids id -k 5 --json >own.json || fail recall
"$furrow" index recall ids.index part1.parquet --base emb.f32 --dim 12 --ids ids.txt -k 5 --json >plain.json || fail recall
[ "$(grep -o '"recall[^,]*' own.json)" = "$(grep -o '"recall[^,]*' plain.json)" ] || fail "the recall"

# ---- What is refused ----

flat=("$furrow" index build --factory Flat -q)
bad() {
  "$run" "COPY (SELECT CASE WHEN i = 2500 THEN $1 ELSE [i::FLOAT, 2, 3] END AS v, i AS id FROM range(3000) t(i) ORDER BY i) TO 'bad.parquet'" || fail DuckDB
  refused "$2" "$3" "${flat[@]}" --base bad.parquet --out never.index
}
bad NULL 7 'bad.parquet:2501: column v: the value is null'
bad '[1::FLOAT, 2]' 7 'bad.parquet:2501: column v: has 2 elements, not 3'
bad '[1::FLOAT, NULL, 3]' 7 'bad.parquet:2501: column v: element 1 is null'
bad '[1::DOUBLE, 2, 1e300]' 6 'bad.parquet:2501: column v: element 2 does not fit a 32-bit float'
"$run" "COPY (SELECT [1::FLOAT, i, 3] AS v, CASE WHEN i < 50 THEN i END AS id, 'a' || chr(10) AS name, i + 0.5 AS real, 18446744073709551615::UBIGINT AS big, [['a']] AS deep
  FROM range(100) t(i)) TO 'other.parquet'" || fail DuckDB
refused 7 'other.parquet:51: column id: the value is null' "${flat[@]}" --base other.parquet --ids id --out never.index
refused 5 'other.parquet:1: column name: ' "${flat[@]}" --base other.parquet --ids name --out never.index
refused 7 'has neither integers nor texts (real)' "${flat[@]}" --base other.parquet --ids real --out never.index
refused 6 'column big: does not fit a 64-bit integer (18446744073709551615)' "${flat[@]}" --base other.parquet --ids big --out never.index
refused 7 'is not a column of lists of numbers (deep)' "${flat[@]}" --base other.parquet --column deep --out never.index
refused 3 'has no column of this name; its columns are: v, id, name' "${flat[@]}" --base other.parquet --column absent --out never.index
refused 2 'so the name of one is needed: inner.v, embedding, doubles' "${build[@]}" --base emb.parquet --out never.index
refused 7 'has no column of lists of numbers' "${build[@]}" --sql 'SELECT 1 AS x' --out never.index
refused 7 'has vectors of 3 elements, not of 12' "$furrow" index search ids.index other.parquet
refused 2 'emb.f32: has no named columns' "${build[@]}" --base emb.f32 --dim 12 --column v --out never.index
refused 2 '--sql and --base cannot be used together' "${build[@]}" --base emb.f32 --sql 'SELECT 1' --out never.index
refused 2 '--sql and QUERIES cannot be used together' "$furrow" index search ids.index emb.f32 --sql 'SELECT 1'
refused 12 'the query returned other rows' "$furrow" index build --nlist 4 --m 1 --sql "SELECT [random(), 1] AS v FROM range(5000)" --out never.index
ls -A | grep -E 'never|\.tmp|\.wal' && fail "files are left"
exit 0
