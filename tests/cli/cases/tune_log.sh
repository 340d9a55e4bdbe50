# a raw log is tuned on as furrow train reads it: columns by options, a schema of a file; the model has schema and names
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 } BEGIN { r = 7; print "id,survived,class,age,port"; for (i = 0; i < 400; i++) { c = int(draw() * 3); a = int(draw() * 70); p = int(draw() * 3); printf "p%d,%s,%s,%d,%s\n", i, draw() < 0.2 + 0.25 * c + (a < 20) * 0.2 ? "yes" : "no", substr("lowmidtop", 3 * c + 1, 3), a, substr("SCQ", p + 1, 1) } }' >ship.csv
(head -1 ship.csv && tail -100 ship.csv) >valid.csv
head -301 ship.csv >train.csv
lines() { # without figures and seconds
  sed -nE 's/^( *[0-9]+ +[0-9]+) .* +[0-9]+\.[0-9]{2}  /\1 /p'
}
gbdt="--model gbdt --trees 10 --label survived --runs 3 --seed 2"
furrow tune $gbdt --train train.csv --conf-out best.json --out found.model | lines
ls found.model | grep -E 'schema|dictionary'
grep -c -E 'memory|encoder|format|label' best.json
echo "the settings train the same model"
furrow train -q --conf best.json --label survived --train train.csv --out again.model 2>/dev/null && diff -r found.model again.model && echo the same
furrow predict -q --model found.model --event class=top --event age=7 --event port=S | sed 's/.*,//'
echo "other rows, folds, a schema, JSON lines, other threads"
furrow tune $gbdt --train train.csv --valid valid.csv -q --threads 1 --json | grep -v seconds >one
furrow tune $gbdt --train train.csv --valid valid.csv -q --threads 3 --json | grep -v seconds | cmp - one && grep -c '"trained_rows": 300' one
furrow tune --model lr --label survived --train train.csv --folds 3 --runs 2 2>/dev/null | lines
furrow rows schema train.csv --label survived --out own.json -q >report
furrow tune $gbdt --train train.csv --schema own.json -q --out own.model --threads 2 2>&1 | head -1
furrow tune --model gbdt --trees 10 --runs 3 --seed 2 --train train.csv --schema own.json -q --out own.model && diff -r found.model own.model && echo the same
awk -F, 'NR > 1 { printf "{\"survived\":\"%s\",\"class\":\"%s\",\"age\":%s}\n", $2, $3, $4 }' train.csv >train.jsonl
furrow tune $gbdt --train train.jsonl -q --out json.model && ls json.model/schema.json
echo "users and items"
awk 'BEGIN { r = 3; print "rating,userId,movieId"; for (i = 0; i < 400; i++) { r = r * 16807 % 2147483647; u = r % 20; r = r * 16807 % 2147483647; m = r % 15; print 1 + (u * 7 + m * 3) % 5 ",u" u ",m" m } }' >ratings.csv
furrow tune --model fm --loss L2Loss --epochs 2 --runs 2 --train ratings.csv --schema auto --user userId --item movieId --label rating --out fm.model -q >/dev/null 2>&1
furrow recommend --model fm.model --users u1 -k 2 -q 2>/dev/null | cut -f 1,2
echo "wrong uses"
no() { try furrow tune -q "$@"; }
no --model lr --train train.csv --label surviced
no --model lr --train train.csv --schema own.json --user id
no --model lr --train train.csv --format csv --user id
no --model lr --train train.csv --schema nowhere.json
head -4 train.csv >few.csv
no --model lr --train few.csv --label survived
sed '5s/yes\|no//' train.csv >bad.csv
no --model lr --train bad.csv --label survived
furrow tune --model lr --train bad.csv --label survived --on-bad skip --runs 2 2>&1 >/dev/null | grep -c 'malformed'
