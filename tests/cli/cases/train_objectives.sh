# Trees of medians, quantiles and counts; predictions that may only rise or fall along a column.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 } BEGIN { r = 5; for (i = 0; i < 3000; i++) { a = draw(); b = draw(); c = draw()
  printf "%d 1:%.5f 2:%.5f 3:%.5f\n", int(-log(draw()) * 3 * exp(a - b)), a, b, c } }' > counts.libsvm
train() { furrow train --model gbdt --train counts.libsvm --trees 40 -q "$@"; }
for objective in count:poisson reg:absoluteerror 'reg:quantileerror --quantile 0.9'; do
  train --objective $objective --out one --threads 1 --force
  train --objective $objective --out three --threads 3 --force
  cmp one/gbdt.node.predict/0 three/gbdt.node.predict/0 && cmp one/gbdt.split.feature/0 three/gbdt.split.feature/0 && echo same
  grep -o '"lossfunc" *: *"[a-z:]*"\|"quantile" *: *[0-9.]*' one/graph.json
  # The matching figure is the loss, and better than the best constant's
  furrow eval --model one --data counts.libsvm | awk '/^(loss|mae|pinball|deviance|constant loss)/ { v[$1 == "constant" ? "constant" : $1] = $NF } END { print v["loss"] < v["constant"], v["mae"] == v["loss"], v["pinball"] == v["loss"], v["deviance"] == v["loss"] }'
  furrow eval --model one --data counts.libsvm --json | is_json
done
# A tenth of the labels is above; a mean of counts is a mean
furrow predict --model one --data counts.libsvm | paste -d, - counts.libsvm | awk -F'[, ]' '{ n += $5 > $2 } END { print (n > 240 && n < 360) }'
train --objective poisson --out counts
furrow predict --model counts --data counts.libsvm | awk -F, '{ sum += $2; if ($2 <= 0) bad++ } END { print (sum / NR > 2.5 && sum / NR < 3.7), bad + 0 }'
# Contributions are of the logarithm of the prediction
head -n 3 counts.libsvm | furrow predict --model counts --data - --contributions | head -n 2 | cut -c 1-60
# Other names of objectives
for objective in mae absolute_error regression_l1 quantile poisson; do
  furrow train --model gbdt --objective $objective --train counts.libsvm --out no --dry-run | grep '^trees'
done
# Rounds go on, and early stopping goes by the loss of the objective
furrow train --model gbdt --objective quantile --quantile 0.9 --train counts.libsvm --out whole -q --valid-ratio 0.2 --trees 12 --history whole.json
furrow train --model gbdt --objective quantile --quantile 0.9 --train counts.libsvm --out part -q --valid-ratio 0.2 --trees 5 --checkpoint point
furrow train --model gbdt --objective quantile --quantile 0.9 --train counts.libsvm --out resumed -q --valid-ratio 0.2 --trees 12 --checkpoint point --resume --history resumed.json
cmp whole/gbdt.node.predict/0 resumed/gbdt.node.predict/0 && echo same
grep -v seconds whole.json > a && grep -v seconds resumed.json > b && cmp a b && echo same
furrow train --model gbdt --load one --train counts.libsvm --out more --trees 2 -q && grep -o '"quantile" *: *[0-9.]*' more/graph.json
try furrow train --model gbdt --load one --train counts.libsvm --out no --trees 2 --objective quantile --quantile 0.5 -q
# Directions
cat > grid.libsvm <<EOF
0 1:0.1 2:0.1 3:0.5
0 1:0.2 2:0.2 3:0.5
0 1:0.4 2:0.4 3:0.5
0 1:0.6 2:0.6 3:0.5
0 1:0.9 2:0.9 3:0.5
EOF
train --objective mae --monotone 0=+,1=+,2=- --out rising
furrow predict --model rising --data grid.libsvm | awk -F, 'NR > 1 && $2 < last { print "falls" } { last = $2 }'
grep -o '"monotone" *: *"[^"]*"' rising/graph.json
for model in one rising; do furrow model info $model | grep '^objective\|^quantile\|^monotone' && furrow info $model | grep '^objective\|^quantile\|^monotone'; done
furrow info rising --json | grep monotone && furrow model info one --json | is_json
try furrow train --model gbdt --load rising --train counts.libsvm --out no --trees 2 --monotone 0=+ -q
(echo price,size,city,sold && awk -F'[ :]' '{ print $3 "," $5 "," (NR % 3 ? "Oslo" : "Bern") "," $1 }' counts.libsvm) > log.csv
furrow train --model gbdt --objective poisson --train log.csv --schema auto --label sold --monotone price=+,size=- --trees 10 --out log.model -q && furrow eval --model log.model --data log.csv | grep -c deviance
(echo price,size,sold && awk -F'[ :]' '{ print $3 "," $5 "," $1 }' counts.libsvm) > table.csv
furrow train --model gbdt --objective poisson --train 'table.csv?label_column=sold' --format csv --monotone size=- --trees 10 --out table -q && echo by name
try furrow train --model gbdt --train log.csv --schema auto --label sold --monotone city=- --trees 2 --out no -q
try furrow train --model gbdt --train log.csv --schema auto --label sold --monotone prize=- --trees 2 --out no -q
try furrow train --model gbdt --train 'table.csv?label_column=sold' --format csv --monotone prize=- --trees 2 --out no -q
try train --objective mae --monotone price=+ --out no
try train --objective mae --monotone 0=+,0=- --out no
try train --objective mae --monotone 7=+ --out no
try train --objective mae --monotone 0+ --out no
try train --objective multi:softmax --monotone 0=+ --out no
# What does not go
(head -n 20 counts.libsvm && echo '-1 1:1') > negative.libsvm
try furrow train --model gbdt --objective poisson --train negative.libsvm --out no -q
try furrow eval --model counts --data negative.libsvm
try train --objective poisson --quantile 0.9 --out no
try train --objective quantile --quantile 1 --out no
try train --objective poisson --metric pinball --out no
try furrow train --model lr --quantile 0.9 --train counts.libsvm --out no
# A log without a label names its columns
(echo price,city,income && for i in 1 2 3 4 5 6; do echo "$i.5,Oslo,$i"; done) > unlabelled.csv
for model in linear fm; do try furrow train --model $model --train unlabelled.csv --out no -q; done
