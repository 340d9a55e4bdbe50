# Trees that rank the rows of a group: trained, evaluated, gone on from; whole groups are held out.
awk 'BEGIN { r = 7; for (i = 0; i < 4000; i++) { r = r * 16807 % 2147483647; a = r % 100; b = int(r / 1000) % 100; c = int(r / 100000) % 100
  print int(a * b / 2501), "qid:" (i * 7 % 200), "1:" a, "2:" b, "3:" c } }' > groups.libsvm
train() { furrow train --model gbdt --objective rank:ndcg --train groups.libsvm --trees 12 -q "$@"; }
train --out one --threads 1
train --out three --threads 3
cmp one/gbdt.node.predict/0 three/gbdt.node.predict/0 && cmp one/gbdt.split.feature/0 three/gbdt.split.feature/0 && echo same
furrow eval --model one --data groups.libsvm | awk '/^(rows|ndcg|loss)/ { print $1, $1 == "rows" ? $2 : ($1 == "ndcg") == ($2 > 0.5) }'
furrow eval --model one --data groups.libsvm --json | is_json
head -n 2 groups.libsvm | furrow predict --model one --data - | awk -F, '{ print $1, $2 != 0, $3, $4 }'
grep -o '"lossfunc" *: *"[a-z:]*"' one/graph.json
# A break changes nothing; the best round is that of the run without one
train --out whole --valid-ratio 0.2 --keep-best --history whole.json
train --out part --valid-ratio 0.2 --keep-best --checkpoint point --trees 5
train --out resumed --valid-ratio 0.2 --keep-best --checkpoint point --resume --history resumed.json
cmp whole/gbdt.node.predict/0 resumed/gbdt.node.predict/0 && echo same
grep -v seconds whole.json > a && grep -v seconds resumed.json > b && cmp a b && echo same
furrow train --model gbdt --objective rank:ndcg --load one --train groups.libsvm --out more --trees 2 -q
furrow model info more | grep '^trees'
# 40 of 200 groups, 20 rows each, are for validation
furrow train --model gbdt --objective rank:ndcg --train groups.libsvm --out json --trees 2 --valid-ratio 0.2 --json --force > train.json
grep -A1 '"valid"' train.json | grep -m 1 rows
furrow train --model gbdt --objective rank:ndcg --train groups.libsvm --trees 3 --folds 5 | awk '/^ *[0-9m]/ && NF > 2 { print $1, $2 }'
# What cannot be ranked
try train --out no --metric auc
try train --out no --truncation 0
try train --out no --stream --valid-ratio 0.2
sed 's/qid:[0-9]* //' groups.libsvm > plain.libsvm
try furrow train --model gbdt --objective rank:ndcg --train plain.libsvm --out no
try furrow eval --model one --data plain.libsvm
for label in 1.5 -1 32 nan; do
  (head -n 50 groups.libsvm && echo "$label qid:3 1:1") > odd.libsvm
  try furrow train --model gbdt --objective rank:ndcg --train odd.libsvm --out no
done
try furrow eval --model one --data odd.libsvm
sed 's/qid:[0-9]*/qid:1/; s/^[0-9]*/2/' groups.libsvm > same.libsvm
try furrow train --model gbdt --objective rank:ndcg --train same.libsvm --out no
sed 's/^[0-9]*/2/' groups.libsvm | awk '{ sub(/qid:[0-9]*/, "qid:" NR); print }' > alone.libsvm
try furrow train --model gbdt --objective rank:ndcg --train alone.libsvm --out no
try furrow train --model gbdt --objective rank:ndcg --train groups.libsvm --valid same.libsvm --out no
try furrow train --model gbdt --truncation 9 --train groups.libsvm --out no
# One group
head -n 100 groups.libsvm | sed 's/qid:[0-9]*/qid:5/' > single.libsvm
furrow train --model gbdt --objective rank:ndcg --train single.libsvm --out single --trees 20 -q
furrow eval --model single --data single.libsvm | awk '/^ndcg/ { print $1, ($2 > 0.9) }'
