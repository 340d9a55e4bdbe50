furrow rows schema events.csv
furrow rows schema events.csv --table titles.csv=movieId --user-history 3 --json | tee schema.json
is_json <schema.json
furrow rows schema events.csv --out out.json --threads 3 --user movieId --item userId >/dev/null
grep role out.json
echo '{"user": "a", "tags": ["x", "y"], "price": 2.5}' >a.jsonl
echo '{"user": "b", "tags": ["y"], "clicked": true}' >b.jsonl
furrow rows schema a.jsonl b.jsonl
printf 'a,b\n1,2\n3\n4,5\n' | furrow rows schema - --on-bad skip
# refused
try furrow rows schema events.csv --out out.json
try furrow rows schema events.csv --label ratings
try furrow rows schema events.csv --label rating --weight rating
try furrow rows schema events.csv --time note
try furrow rows schema events.csv --table titles.csv=movie
try furrow rows schema events.csv --table titles.csv=userId
try furrow rows schema events.csv --table titles.csv
try furrow rows schema b.jsonl --user-history 3
try furrow rows schema nothing.csv
try furrow rows schema
printf 'a,b\n1,2\n3\n' >short.csv
try furrow rows schema short.csv
