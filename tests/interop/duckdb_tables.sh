#!/bin/bash
# tests/interop/duckdb_tables.sh FURROW: Parquet files and queries give what csv with the same cells gives: DuckDB writes both.
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

# ---- One log as csv, in one Parquet file of several row groups, in several files, and in a database ----

log="SELECT (hash(i * 13) % 3 = 0)::INT AS clicked, 'u' || (hash(i) % 500) AS userId, hash(i * 7) % 300 AS movieId,
  CASE WHEN i % 11 > 0 THEN round((hash(i * 3) % 10000) / 100.0, 2) END AS price,
  CASE WHEN i % 7 > 0 THEN ['a', 'b', 'c \"x\"', 'Drama, big'][(1 + hash(i * 5) % 4)::INT] END AS genre,
  TIMESTAMP '2024-01-01' + INTERVAL (i * 37) SECOND AS time, ((hash(i * 17) % 1000)::FLOAT / 7) AS share,
  ((hash(i * 11) % 1000000) / 100)::DECIMAL(12, 2) AS cents, i % 2 = 0 AS flag, DATE '2020-01-01' + (i % 300)::INT AS day,
  MAP {'k': i} AS notes FROM range(30000) t(i) ORDER BY i"
"$run" "CREATE TABLE log AS $log" "COPY (SELECT * EXCLUDE (notes) FROM log) TO 'log.csv' (HEADER)" \
  "COPY (SELECT * EXCLUDE (notes) FROM log) TO 'log.parquet' (ROW_GROUP_SIZE 4096)" "COPY log TO 'all.parquet'" \
  "COPY (SELECT * EXCLUDE (notes) FROM log LIMIT 10000) TO 'part1.parquet'" \
  "COPY (SELECT * EXCLUDE (notes) FROM log LIMIT 20000 OFFSET 10000) TO 'part2.parquet'" \
  "COPY (SELECT 'u' || (i % 3) AS userId, i % 300 AS movieId FROM range(900) t(i)) TO 'seen.parquet'" \
  "COPY (SELECT 'u' || (i % 3) AS userId, i % 300 AS movieId FROM range(900) t(i)) TO 'seen.csv'" || fail "DuckDB"
DATABASE=log.duckdb "$run" "CREATE TABLE log AS $log" || fail "DuckDB"
[ "$(stat -c %s log.csv)" -gt 2000000 ] || fail "the log is too small for several pieces"

"$furrow" rows schema log.csv --label clicked --out csv.json >/dev/null || fail schema
"$furrow" rows encode log.csv --schema csv.json --out csv.rows --dictionary csv.names >/dev/null || fail encode
for source in log.parquet 'part*.parquet' all.parquet; do
  "$furrow" rows schema "$source" --label clicked --out schema.json --force >/dev/null || fail "schema $source"
  [ "$source" = all.parquet ] || cmp csv.json schema.json || fail "the schema of $source"
  for threads in 1 3; do
    "$furrow" rows encode "$source" --schema csv.json --threads $threads --out own.rows --dictionary own.names >/dev/null ||
      fail "encode $source"
    cmp csv.rows own.rows && cmp csv.names/dictionary.furrow own.names/dictionary.furrow || fail "the rows of $source"
    rm -r own.rows own.names
  done
done
for query in "FROM 'log.parquet'" "SELECT * FROM read_csv('log.csv')"; do
  "$furrow" rows encode --sql "$query" --schema csv.json --out own.rows --dictionary own.names >/dev/null || fail "$query"
  cmp csv.rows own.rows && cmp csv.names/dictionary.furrow own.names/dictionary.furrow || fail "the rows of $query"
  rm -r own.rows own.names
done
"$furrow" rows encode --sql "SELECT * FROM log ORDER BY time" --database log.duckdb --dictionary csv.names \
  --out own.rows >/dev/null || fail database
cmp csv.rows own.rows || fail "the rows of the database"

# ---- Training, scoring, splitting, side tables ----

for source in log.csv log.parquet; do
  "$furrow" train --model lr --train $source --schema csv.json --epochs 1 --out $source.model -q >/dev/null || fail "train $source"
  "$furrow" predict --model $source.model --data $source >$source.scores || fail "predict $source"
  "$furrow" eval --model $source.model --data $source >$source.figures || fail "eval $source"
  "$furrow" rows split $source --user userId --time time --last 0.2 --out $source.parts/ >/dev/null || fail "split $source"
  "$furrow" train --model recommender --train $source --user userId --item movieId --label clicked --out $source.items -q >/dev/null || fail "recommender $source"
done
for file in weight/part_0 dictionary.furrow schema.json; do
  [ ! -e log.csv.model/$file ] || cmp log.csv.model/$file log.parquet.model/$file || fail "the models"
done
cmp log.csv.scores log.parquet.scores && cmp log.csv.figures log.parquet.figures || fail "scores and figures"
[ "$(wc -l <log.csv.scores)" = 30000 ] || fail "the number of scores"
diff -r log.csv.parts log.parquet.parts || fail "the parts"
for seen in csv parquet; do
  "$furrow" recommend --model log.parquet.items --users u1,u2 -k 5 --exclude seen.$seen >seen.$seen.items || fail "exclude $seen"
done
cmp seen.csv.items seen.parquet.items || fail "the excluded items"
"$furrow" recommend --model log.parquet.items --users u1,u2 -k 5 --sql "FROM 'seen.parquet'" >seen.sql.items || fail "exclude by SQL"
cmp seen.csv.items seen.sql.items || fail "the excluded items by SQL"

# ---- Results as Parquet have what is printed ----

"$furrow" predict --model log.csv.model --data log.csv --probabilities --json >plain.json || fail "predict as JSON"
"$furrow" predict --model log.csv.model --data log.csv --probabilities --scores scores.parquet || fail "predict to Parquet"
"$run" "CREATE TABLE own AS FROM 'scores.parquet'" "CREATE TABLE plain AS SELECT * FROM read_json('plain.json')" \
  "COPY (SELECT count(*) FROM own JOIN plain USING (sid) WHERE abs(own.pred - plain.pred) < 1e-8 AND abs(own.proba - plain.proba) < 1e-8 AND own.label = plain.label
    AND abs(own.\"1\" - plain.probabilities.\"1\") < 1e-8 AND own.sid = own.rowid) TO 'counted' (HEADER false)" \
  "COPY (SELECT column_name, column_type FROM (DESCRIBE own)) TO 'types' (HEADER false)" || fail DuckDB
[ "$(cat counted)" = 30000 ] || fail "the table of scores: $(cat counted)"
[ "$(tr '\n' ' ' <types)" = "sid,BIGINT pred,DOUBLE proba,DOUBLE label,DOUBLE 0,DOUBLE 1,DOUBLE " ] || fail "$(cat types)"
"$furrow" recommend --model log.parquet.items -k 7 --csv >plain.csv || fail recommend
"$furrow" recommend --model log.parquet.items -k 7 --out best.parquet || fail "recommend to Parquet"
"$run" "COPY (SELECT count(*) FROM 'best.parquet' AS own JOIN read_csv('plain.csv', all_varchar = true) AS plain ON own.user = plain.user AND own.rank = plain.rank::BIGINT
  AND own.item = plain.item WHERE abs(own.score - plain.score::DOUBLE) < 1e-5) TO 'counted' (HEADER false)" || fail DuckDB
[ "$(cat counted)" = $(($(wc -l <plain.csv) - 1)) ] && [ "$(cat counted)" -gt 3000 ] || fail "the table of recommendations: $(cat counted)"

"$furrow" info all.parquet >info.txt && grep -q 'raw log' info.txt && grep -q 'notes' info.txt || fail "info of a file with a map"
rm own.rows
"$furrow" rows encode --sql "FROM 'all.parquet';" --schema csv.json --out own.rows --dictionary own.names >/dev/null && cmp csv.rows own.rows ||
  fail "a query with a map"
rm -r own.rows own.names
"$furrow" info log.parquet >info.txt && grep -q 'raw log' info.txt && grep -q 'userId *category (user)' info.txt || fail info

# ---- Files of a server ----

python3 -u -c 'import http.server as h
class Quiet(h.SimpleHTTPRequestHandler):
  def log_message(self, *_): pass
server = h.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
print(server.server_port, flush=True)
server.serve_forever()' >port &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until [ -s port ]; do sleep 0.05; done
address=http://127.0.0.1:$(cat port)
if "$furrow" rows schema "$address/log.csv" >/dev/null 2>elsewhere.err || ! grep -q libcurl elsewhere.err; then
  mkdir copies
  export TMPDIR=$work/copies
  "$furrow" rows encode "$address/log.parquet" --dictionary csv.names --out elsewhere.rows >/dev/null && cmp csv.rows elsewhere.rows ||
    fail "a file of a server"
  [ -z "$(ls -A copies)" ] || fail "copies are left"
  TMPDIR=$work/absent "$furrow" rows schema "$address/log.parquet" 2>elsewhere.err && fail "a copy in no folder"
  grep -q 'absent: cannot create a temporary file' elsewhere.err || fail "$(cat elsewhere.err)"
  unset TMPDIR
fi

# ---- What is refused ----

# refused CODE TEXT COMMAND …: the command fails with this code and says the text
refused() {
  local code=0 wanted=$1 text=$2
  shift 2
  "$@" >refused.out 2>refused.err || code=$?
  [ $code = "$wanted" ] && grep -qF -e "$text" refused.err || { cat refused.err && fail "code $code of $*"; }
}
quoted="a'b [1]*.parquet"
cp log.parquet "$quoted"
"$furrow" rows encode "$quoted" --dictionary csv.names --out quoted.rows >/dev/null && cmp csv.rows quoted.rows || fail "a name with quotes"
head -c 100000 log.parquet >cut.parquet
refused 7 'cut.parquet: DuckDB: ' "$furrow" rows schema cut.parquet
echo text >text.parquet
refused 7 'text.parquet: DuckDB: ' "$furrow" rows encode text.parquet --dictionary csv.names --out never.rows
refused 2 'DuckDB: Parser Error' "$furrow" rows schema --sql "SELECT * FRM x"
refused 2 'the SQL is not a query' "$furrow" rows schema --sql "COPY (SELECT 1) TO 'never.csv'"
refused 2 'DuckDB: ' "$furrow" rows schema --sql "SELECT 1; SELECT 2"
refused 2 '--sql and LOG cannot be used together' "$furrow" rows schema --sql "SELECT 1" log.csv
refused 2 '--database needs --sql' "$furrow" rows schema --database log.duckdb log.csv
refused 7 'absent.duckdb: DuckDB: ' "$furrow" rows schema --sql "SELECT 1" --database absent.duckdb
refused 12 'the query returned other rows' "$furrow" rows encode --sql "SELECT random() AS x, clicked FROM 'log.parquet'" \
  --schema auto --label clicked --out never.rows --dictionary never.names
echo '{"columns": {"clicked": {"as": "label"}, "x": {"as": "number"}}}' >number.json
refused 5 'furrow: --sql:7: column x: ' "$furrow" rows encode --sql "SELECT 1 AS clicked, CASE WHEN i = 6 THEN 'text' ELSE '1' END AS x FROM range(9) t(i)" \
  --schema number.json --out never.rows --dictionary never.names
refused 11 'best.parquet: ' "$furrow" recommend --model log.parquet.items --out best.parquet
refused 2 '--csv and an --out that is Parquet' "$furrow" recommend --model log.parquet.items --csv --out never.parquet
refused 5 '--sql:1: column price: a number that is too large' "$furrow" predict --model log.csv.model --sql "SELECT * REPLACE (1e300 AS price) FROM 'log.parquet'" --scores never.parquet
TMPDIR=$work/absent refused 4 'absent' "$furrow" recommend --model log.parquet.items --out never.parquet
refused 7 'this is a table of typed columns' "$furrow" rows dump log.parquet
FURROW_DUCKDB=/absent.so refused 3 'FURROW_DUCKDB must name libduckdb.so' "$furrow" rows schema log.parquet
ls -A | grep -E 'never|\.tmp|\.wal' && fail "files are left"
exit 0
