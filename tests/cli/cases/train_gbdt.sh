# Boosted trees: trained, used, gone on from; what six decimals change is said.
awk 'BEGIN { r = 7; for (i = 0; i < 2000; i++) { r = r * 16807 % 2147483647; a = int(r / 1000) % 100 / 10; b = int(r / 100000) % 50; f = int(r / 7) % 5
  print (a > 5) == (b > 20) ? 1 : 0, "1:" a, "2:" b (f == 0 ? " 4:1" : "") } }' > xor.libsvm
furrow train --defaults angel --model gbdt --train xor.libsvm --out xor.model --trees 5 --depth 3 --lr 0.5 --splits 50 -q
furrow eval --model xor.model --data xor.libsvm --bins 0 | grep -E '^(rows|accuracy)'
printf '7 1:9.9 2:49\n8 1:9.9 2:3\n9 1:0.1 2:3 4:1\n' | furrow predict --model xor.model --data - | cut -d, -f 1,4
ls xor.model
cut -d, -f 1 xor.model/gbdt.split.feature/0 | sort -n | uniq -c
# The other objectives
furrow train --defaults angel --model gbdt --train xor.libsvm --out xor.number --trees 5 --depth 3 --objective reg:squarederror -q
furrow eval --model xor.number --data xor.libsvm --bins 0 | grep -c -E '^(rmse|mae)'
furrow train --defaults angel --model gbdt --train xor.libsvm --out xor.classes --trees 5 --depth 3 --objective multi:softmax --classes 2 -q
furrow eval --model xor.classes --data xor.libsvm --bins 0 | grep -E '^accuracy'
# Leaves that are split best first, of 100 rows at least; scores that start at the average
furrow train --defaults angel --model gbdt --train xor.libsvm --out xor.leaves --trees 3 --depth 6 --leaves 4 --min-rows 100 --from-average yes --valid-ratio 0 -q
furrow model info xor.leaves | sed -n '3,5p'
furrow train --defaults angel --model gbdt --trees 3 --depth 6 --leaves 4 --dry-run | grep '^a tree'
try furrow train --defaults angel --model gbdt --train xor.libsvm --out no --leaves -1
try furrow train --defaults angel --model gbdt --train xor.libsvm --out no --min-rows few
try furrow train --defaults angel --model gbdt --train xor.libsvm --out no --min-rows 1500
try furrow train --defaults angel --model lr --train xor.libsvm --out no --leaves 8
# More trees for a model; Angel's bytes
furrow train --defaults angel --model gbdt --load xor.model --train xor.libsvm --out more.model --trees 2 --depth 3 --lr 0.5 --node-stats no -q
ls more.model
tail -n 1 more.model/gbdt.node.predict/0 | cut -d, -f 1,2
furrow train --defaults angel --model gbdt --train xor.libsvm --out angel.model --trees 5 --depth 3 --angel-bytes --valid-ratio 0 | grep -E '^(rows compared|labels changed)'
grep -c -E '[.][0-9]{7}' angel.model/gbdt.node.predict/0 xor.model/gbdt.node.predict/0
# A model as Angel leaves it has no graph.json: the learning rate is said
rm xor.model/graph.json
try furrow predict --model xor.model --data xor.libsvm
furrow predict --model xor.model --algorithm gbdt -D ml.learn.rate=0.5 -D label=PosNegTrans --data xor.libsvm | cut -d, -f 1,4 | head -n 1
# What does not go
try furrow train --defaults angel --model gbdt --train xor.libsvm --out no --epochs 3
try furrow train --defaults angel --model gbdt --load more.model --train xor.libsvm --out no --depth 5
try furrow train --defaults angel --model gbdt --dry-run --svg no.svg
try furrow train --defaults angel --model gbdt --train xor.libsvm --out no --objective multi:softmax --classes 2 --label-threshold 3 --label AddOneTrans
furrow model verify more.model -q && echo sound
try furrow train --defaults angel --model gbdt --load more.model --train xor.libsvm --out no --depth 3 --lr 0.25
sed -i 's/^6,14,-1/6,14,01/' more.model/gbdt.split.feature/0
try furrow model verify more.model -q
rm -r more.model/gbdt.split.value
try furrow model verify more.model -q
try furrow eval --model more.model --data xor.libsvm
