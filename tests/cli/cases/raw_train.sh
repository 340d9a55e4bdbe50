cd raw
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 } BEGIN{r=7;print "rating,userId,movieId,ts";for(i=0;i<600;i++){u=int(draw()*20);m=int(draw()*15);printf "%d,u%d,m%d,%d\n",1+(u*7+m*3)%5,u,m,1000000000+i*600}}' >ratings.csv
head -401 ratings.csv >train.csv
(head -1 ratings.csv && tail -200 ratings.csv) >test.csv
train="furrow train --model fm --loss L2Loss --rank 2 --epochs 3 --seed 1 --threads 1 -q"
echo "auto"
try $train --train train.csv --schema auto --out auto.model >report
ls auto.model | grep -E 'schema|dictionary'
# Raw logs and encoded rows are scored alike, to the last digit.
try furrow predict --model auto.model --data test.csv -q >raw.txt
try furrow rows encode test.csv --dictionary auto.model --out test.ffm -q >report
try furrow predict --model auto.model --data test.ffm --format libffm -q >rows.txt
cmp raw.txt rows.txt && wc -l <raw.txt
# With and without the label, in any format, by any number of threads.
cut -d, -f2- test.csv >unlabeled.csv
try furrow predict --model auto.model --data unlabeled.csv -q --threads 3 >unlabeled.txt
cmp <(cut -d, -f2- raw.txt) <(cut -d, -f2- unlabeled.txt)
awk -F, 'NR>1{printf "{\"userId\":\"%s\",\"movieId\":\"%s\",\"ts\":%s}\n",$2,$3,$4}' test.csv >test.json
try furrow predict --model auto.model --data test.json -q >json.txt
cmp <(cut -d, -f2- raw.txt) <(cut -d, -f2- json.txt)
furrow eval --model auto.model --data test.csv -q >raw.eval
furrow eval --model auto.model --data test.ffm --format libffm -q >rows.eval
diff <(grep -v -E 'data|format|second' raw.eval) <(grep -v -E 'data|format|second' rows.eval)
try furrow eval --model auto.model --data unlabeled.csv -q
echo "schema of a file"
furrow rows schema train.csv --out own.json -q >report
try $train --train train.csv --schema own.json --out own.model >report
try furrow predict --model own.model --data test.csv -q >own.txt
cmp raw.txt own.txt
echo "whole numbers that users gave to items are numbers; three names are classes, which ffm cannot separate"
furrow train --model fm --rank 2 --train train.csv --schema auto --out rated.model 2>&1 | grep -o 'the labels are .*'
grep -o '"L2Loss"' rated.model/graph.json
awk -F, 'NR>1{$1=$1>3?"good":$1>2?"fair":"poor"}{print $1","$2","$3","$4}' train.csv >words.csv
try furrow train --model ffm --rank 2 --train words.csv --schema auto --out words.model -q
echo "going on"
try $train --train test.csv --load auto.model --out more.model >report
try furrow predict --model more.model --data test.csv -q >more.txt
cmp -s raw.txt more.txt || echo "another model"
furrow rows encode test.csv --dictionary more.model --out more.ffm -q >report && cmp test.ffm more.ffm && echo "the same rows"
echo "a table with a header and texts is a log; a format says otherwise"
$train --train train.csv --schema auto --out said.model >/dev/null
$train --train train.csv --out unsaid.model >/dev/null
furrow model diff said.model unsaid.model >/dev/null && cmp said.model/schema.json unsaid.model/schema.json && echo "the same model"
awk -F, 'NR > 1 { printf "{\"rating\":%s,\"user\":\"%s\"}\n", $1, $2 }' train.csv >train.jsonl
furrow train --model linear --label rating --train train.jsonl --out json.model >/dev/null
printf 'a,b,y\n1,2,0\n2,x,1\n3,1,0\n4,2,1\n5,1,1\n' >numbers.csv
try furrow train --model lr --label y --train numbers.csv --out o.model
sed '2s/^[0-9]*//' train.csv >unlabelled.csv
try furrow train --model linear --label rating --train unlabelled.csv --out o.model -q
furrow train --model linear --label rating --train unlabelled.csv --out skipped.model --on-bad skip 2>&1 >/dev/null | grep malformed
echo "wrong uses"
try furrow train --model fm --format csv --train train.csv --out o.model
try furrow train --model fm --train 'train.csv?label_column=0' --out o.model
try $train --train test.csv --load auto.model --schema auto --out o.model
try $train --train numbers.csv --user userId --out o.model
try $train --train train.csv --schema own.json --user userId --out o.model
try $train --train train.csv --schema auto --label score --out o.model
try $train --train train.csv --schema auto --item film --out o.model
try $train --train train.csv --schema nowhere.json --out o.model
sed '5s/^[0-9]*/x/' train.csv >bad.csv
try $train --train bad.csv --schema own.json --out o.model
sed 's/movieId/film/' test.csv >film.csv
try furrow predict --model auto.model --data film.csv -q
try furrow eval --model auto.model --data film.csv -q
cp hashed.json auto.model/schema.json
try furrow predict --model auto.model --data test.csv -q
[ -e o.model ] || echo "no model is left of them"
echo '- a loaded model has the label in its schema'
awk 'BEGIN { print "size,kind"; for (i = 0; i < 60; i++) print i % 7 "," (i % 2 ? "a" : "b") }' >kinds.csv
furrow train --model gbdt --train kinds.csv --label kind --trees 3 --out kinds.model -q >/dev/null
try furrow train --model gbdt --load kinds.model --train kinds.csv --label kind --out kinds2.model
