# contributions of features to scores, and weights of models, for models made by hand
# matrix PATH TYPE: row, column and value on each line of standard input
matrix() { tr ' ' '\t' >m.tsv && furrow model import -q m.tsv $1 --row-type $2 >/dev/null; }
wide() { printf '%s\n' '0 0 0.5' '0 1 -2' '0 2 0' '0 3 1.25' '0 4 0.125' | matrix $1/input_weight T_FLOAT_DENSE && echo '0 0 0.75' | matrix $1/input_bias T_FLOAT_DENSE; }
mkdir lr fm softmax gbdt mlr
wide lr
wide fm
printf '%s\n' '0 0 1' '0 1 2' '0 2 0' '0 3 -1' '0 4 0' '1 0 0' '1 1 1' '1 2 3' '1 3 1' '1 4 0' | matrix fm/embedding_embedding T_FLOAT_DENSE
printf '%s\n' '0 0 1' '0 1 2' '0 2 0' '1 0 0' '1 1 -1' '1 2 0.5' | matrix softmax/input_weight T_FLOAT_DENSE
printf '%s\n' '0 0 0.25' '0 1 -0.25' | matrix softmax/input_bias T_FLOAT_DENSE
# feature 12 <= 0.5 (absent: yes): yes (cover 6): feature 3 <= -1.25 (absent: no): -0.5 (2), 0.25 (4); no (cover 2): 0.75
row() { printf '%s\n' "$@" | awk '{ print 0, NR - 1, $1 }'; }
row 12 3 -1 -1 -1 -1 -1 | matrix gbdt/gbdt.split.feature T_INT_DENSE
row 0.5 -1.25 0 0 0 0 0 | matrix gbdt/gbdt.split.value T_DOUBLE_DENSE
row 0 0 0.75 -0.5 0.25 0 0 | matrix gbdt/gbdt.node.predict T_DOUBLE_DENSE
cp -r gbdt without
row 1 1 0 0 0 0 0 | matrix gbdt/gbdt.split.gain T_DOUBLE_DENSE
row 0 0 0 0 0 0 0 8 6 2 2 4 0 0 | matrix gbdt/gbdt.node.grad.stats T_DOUBLE_DENSE
printf '7 4:2 2:1\n8 1:1 2:1 3:5 4:2 9:1\n9\n' >rows.libsvm
predict() { local name=$1 && shift && furrow predict --model $name --algorithm $name --data rows.libsvm --contributions "$@"; }
echo "---- lines"
predict lr
predict lr --top 1
predict fm -D rank=2
predict softmax -D classes=2
printf '1 13:1\n2 4:-2\n3 4:7 13:0\n4 5:1\n' >trees.libsvm
furrow predict --model gbdt --algorithm gbdt -D lr=1 --data trees.libsvm --contributions
echo "---- JSON"
predict lr --json
predict lr --json --top 1 --sid row
predict softmax -D classes=2 --json --top 1
predict softmax -D classes=2 --json | head -n 1 | is_json && echo "is JSON"
predict fm -D rank=2 --json --threads 3 | head -n 2 | tail -n 1
echo "---- weights"
furrow model weights lr --algorithm lr
furrow model weights lr --algorithm lr --top 2
furrow model weights lr --algorithm lr --feature 2,0
furrow model weights fm --algorithm fm -D rank=2
furrow model weights softmax --algorithm softmax -D classes=2 --top 1
furrow model weights softmax --algorithm softmax -D classes=2 --top 0 --json
furrow model weights fm --algorithm fm -D rank=2 --top 1 --json
echo "---- labels of classes"
awk 'BEGIN { for (i = 0; i < 60; i++) print (i % 3 == 0 ? -2 : i % 3 == 1 ? 3 : 40), i % 3 + 1 ":1", i % 7 + 4 ":1" }' >labels.libsvm
furrow train -q --model softmax --train labels.libsvm --out labels
furrow train -q --model gbdt --objective multi:softmax --node-stats yes --trees 2 --train labels.libsvm --out forest
for model in labels forest; do
  head -n 1 labels.libsvm | furrow predict --model $model --data - --contributions | cut -d, -f1,2
  head -n 1 labels.libsvm | furrow predict --model $model --data - --contributions --json | grep -o '"class":[^,]*'
done
furrow model weights labels --top 1 | cut -c1-5
furrow model weights labels --top 1 --json | grep '"class"'
echo "---- by column"
awk 'BEGIN { r = 7; print "bought,shop,price,when"; for (i = 0; i < 200; i++) { r = r * 16807 % 2147483647; s = r % 3; r = r * 16807 % 2147483647; p = r % 50; printf "%s,%s,%d,2024-03-0%dT0%d:00:00\n", ((s * 20 + p) % 9 > 3 ? "yes" : "no"), substr("eastwestport", 4 * s + 1, 4), p, 1 + i % 5, i % 8 } }' >shop.csv
furrow train -q --model lr --train shop.csv --label bought --out shop 2>/dev/null
furrow train -q --model gbdt --trees 5 --train shop.csv --label bought --out shop.trees 2>/dev/null
for model in shop shop.trees; do
  furrow predict --model $model --data shop.csv --contributions --by column >columns.csv
  head -n 1 columns.csv
  awk -F, 'NR > 1 { sum = 0; for (i = 3; i <= NF; i++) sum += $i; if (sum - $2 > 1e-4 || $2 - sum > 1e-4) bad++ } END { print NR - 1, "rows,", bad + 0, "wrong sums" }' columns.csv
done
head -n 3 shop.csv | furrow predict --model shop --data - --contributions --by column --json | head -n 1 | is_json && echo "is JSON"
head -n 3 shop.csv | furrow predict --model shop --data - --contributions --by column --json | head -n 1 | grep -o '"[a-z]*":' | tr -d '\n' && echo
printf '"a,b",c,y\n1,2,0\n2,5,1\n0,4,2\n4,5,2\n3,3,1\n4,1,0\n' >named.csv
furrow train -q --model softmax --train named.csv --format csv --label-column y --out named
furrow predict --model named --data named.csv --contributions --by column | head -n 4 | sed "2,\$s/,[-.0-9]*,.*//"
head -n 2 named.csv | furrow predict --model named --data - --contributions --by column --json | grep -o '"a,b"' | wc -l
echo "---- by column, refused"
try furrow predict --model lr --algorithm lr --data rows.libsvm --contributions --by column
try furrow predict --model gbdt --algorithm gbdt -D lr=1 --data trees.libsvm --contributions --by column
try furrow predict --model shop --data shop.csv --by column
try furrow predict --model shop --data shop.csv --contributions --by column --top 2
try furrow predict --model shop --data shop.csv --contributions --by row
echo "---- refused"
try furrow predict --model without --algorithm gbdt --data trees.libsvm --contributions
try furrow predict --model lr --algorithm lr --data rows.libsvm --contributions --scores s.npy
try furrow predict --model lr --algorithm lr --data rows.libsvm --top 3
try furrow predict --model lr --data rows.libsvm --contributions
printf '1 1:nan\n' | try furrow predict --model lr --algorithm lr --data - --contributions
printf '%s\n' '0 0 1' '1 0 1' | matrix mlr/sigmoid_layer_weight T_FLOAT_DENSE
cp -r mlr/sigmoid_layer_weight mlr/softmax_layer_weight
printf '%s\n' '0 0 1' '0 1 1' | matrix mlr/sigmoid_layer_bias T_FLOAT_DENSE
cp -r mlr/sigmoid_layer_bias mlr/softmax_layer_bias
try predict mlr -D mlr-rank=2
try furrow model weights mlr --algorithm mlr -D mlr-rank=2
try furrow model weights gbdt --algorithm gbdt
try furrow model weights lr
try furrow model weights nothing
try furrow model weights lr --algorithm lr --feature 2,5
try furrow model weights lr --algorithm lr --feature 2,x,1
try furrow model weights lr --algorithm lr --feature 2,
try furrow model weights lr --algorithm lr --feature 2 --top 1
