# figures of rankings: a model that knows nothing but how often items occur, checked by awk
awk 'BEGIN { r = 7; print "user,item,rating"
  for (u = 0; u < 60; u++) for (j = 0; j < 10; j++) { r = r * 16807 % 2147483647; i = int((r / 2147483647) ^ 2 * 80); if (!((u, i) in seen)) { seen[u, i] = 1; print "u" u ",i" i "," 1 + r % 5 > (j < 7 ? "train.csv" : "test.csv") } } }' >head
cat head train.csv >t && mv t train.csv
{ cat head test.csv; echo "u5,brand new,5"; echo "somebody,i3,5"; } >t && mv t test.csv
cat >schema.json <<END
{"columns": {"user": {"as": "category", "role": "user"}, "item": {"as": "category", "role": "item"}, "rating": {"as": "label"}}}
END
furrow train -q --model linear --epochs 1 --train train.csv --schema schema.json --out model
furrow recommend -q --model model -k 5 --exclude train.csv >top
furrow eval --model model --data test.csv --rank -k 5 --exclude train.csv >table
cut -c1-21 table
furrow eval -q --model model --data test.csv --rank -k 5 --exclude train.csv --json >json
is_json <json
grep -o '"[a-z_]*":' json | tr '\n' ' ' && echo
awk -F '[\t,]' '
  FILENAME == "train.csv" { seen[$1, $2] = 1; known[$1] = 1; next }
  FILENAME == "test.csv" { if (FNR > 1 && ($1 in known) && !(($1, $2) in seen) && !(($1, $2) in relevant)) { relevant[$1, $2] = 1; count[$1]++ } next }
  { if ($1 in count) { shown[$3] = 1; if (($1, $3) in relevant) { hits[$1]++; dcg[$1] += log(2) / log($2 + 1); ap[$1] += hits[$1] / $2; if (!first[$1]) first[$1] = $2 } } }
  END {
    for (u in count) { n++; most = count[u] < 5 ? count[u] : 5; ideal = 0; for (i = 1; i <= most; i++) ideal += log(2) / log(i + 1)
      ndcg += dcg[u] / ideal; recall += hits[u] / most; map += ap[u] / most; if (first[u]) { mrr += 1 / first[u]; hit++ } }
    printf "users %d\nndcg %.6f\nrecall %.6f\nmap %.6f\nmrr %.6f\nhit %.6f\n", n, ndcg / n, recall / n, map / n, mrr / n, hit / n }' train.csv test.csv top >expected
awk '$1 ~ /^(users|ndcg|recall|map|mrr|hit)$/ { print $1, $2 }' table >found
diff expected found && echo as computed by hand
# labels, and what is refused
furrow eval -q --model model --data test.csv --rank --relevant-from 5 | awk '$1 == "users" { print ($2 < 60) }'
try furrow eval --model model --data test.csv --rank --relevant-from 6
try furrow eval --model model --data test.csv --rank --relevant-from x
try furrow eval --model model --data test.csv -k 5
try furrow eval --model model --rank
try furrow eval --model model --data test.csv --rank --curves a.svg
sed 1s/item/thing/ test.csv >other.csv
try furrow eval --model model --data other.csv --rank
# of two classes the positive label is relevant, unless it is said; a log without labels is relevant as a whole
awk -F, -v OFS=, 'NR == 1 { print "user", "item", "click"; next } { print $1, $2, ($3 >= 3) }' train.csv >clicks.csv
awk -F, -v OFS=, 'NR == 1 { print "user", "item", "click"; next } { print $1, $2, ($3 >= 3) }' test.csv >later.csv
furrow train -q --model lr --epochs 1 --threads 1 --train clicks.csv --schema auto --user user --item item --out clicks >report
echo "clicks later: $(awk -F, '$3 == 1 && $1 != "somebody"' later.csv | sort -u | wc -l)"
furrow eval -q --model clicks --data later.csv --rank | grep relevant
furrow eval -q --model clicks --data later.csv --rank --relevant-from 0 | grep relevant
furrow eval -q --model clicks --data later.csv --rank --json | grep relevant
cut -d, -f1,2 later.csv >bare.csv
furrow eval -q --model clicks --data bare.csv --rank | grep relevant
furrow eval -q --model clicks --data bare.csv --rank --json | grep relevant
# a model that ranks has no figures of rows
furrow train -q --model fm --loss bpr --rank 2 --epochs 1 --threads 1 --train clicks.csv --schema auto --user user --item item --out ranks >report
try furrow eval --model ranks --data later.csv
furrow eval -q --model ranks --data later.csv --rank | grep relevant
try furrow predict --model ranks --data later.csv --probabilities
