# Weights and groups in files next to the data are those that rows could have themselves.
awk 'BEGIN { r = 7; for (i = 0; i < 600; i++) { r = r * 16807 % 2147483647; a = r % 100; b = int(r / 1000) % 100
  print (a + b > 90 + i % 40), i % 5 + 0.5, int(i / 6) + 1, a, b } }' >all
awk '{ print $1 ":" $2, "1:" $4, "2:" $5 }' all >own.libsvm
awk '{ print $1, "1:" $4, "2:" $5 }' all >side.libsvm
awk '{ print $2 }' all >side.libsvm.weight
awk 'BEGIN { print "y,a,b" } { print $1 "," $4 "," $5 }' all >side.csv
awk '{ print $2 "\r" } END { print "" }' all >side.csv.weight
for data in own.libsvm side.libsvm side.csv; do
  try furrow train --model lr --train $data --out $data.lr --seed 1 >report
  try furrow train --model gbdt --train $data --out $data.gbdt --trees 5 --threads 1 -q >report
  for model in lr gbdt; do
    try furrow eval --model $data.$model --data $data -q >$data.$model.eval
  done
done
try furrow eval --model side.csv.lr --data side.csv >report
for model in lr gbdt; do
  cmp own.libsvm.$model.eval side.libsvm.$model.eval && cmp own.libsvm.$model.eval side.csv.$model.eval && echo same
done
# They matter.
mv side.csv.weight away
furrow eval --model side.csv.lr --data side.csv -q | cmp -s - side.csv.lr.eval || echo other
# Groups.
awk '{ print $1, "qid:" $3, "1:" $4, "2:" $5 }' all >own.rank
awk '{ print $1, "1:" $4, "2:" $5 }' all >side.rank
awk '{ n[$3]++ } END { for (i = 1; i <= 100; i++) print n[i] }' all >side.rank.query
for data in own side; do
  try furrow train --model gbdt --objective rank:ndcg --format libsvm --train $data.rank --out $data.rank.model --trees 5 --threads 1 >report
  furrow eval --model $data.rank.model --format libsvm --data $data.rank -q | grep '^\(rows\|ndcg\|loss\|groups\)' >$data.rank.eval
done
cmp own.rank.eval side.rank.eval && cmp own.rank.model/gbdt.node.predict/0 side.rank.model/gbdt.node.predict/0 && echo same
# Streamed rows have them, too.
try furrow train --model lr --train side.libsvm --stream --out stream.model --seed 1 --epochs 2 >report
# What does not fit is refused.
no() { try furrow train --model lr --train "$1" --out no.model -q; }
head -599 side.libsvm.weight >w && cp side.libsvm short.libsvm && mv w short.libsvm.weight && no short.libsvm
(cat side.libsvm.weight && echo 1) >w && mv w short.libsvm.weight && no short.libsvm
sed '3s/.*/much/' side.libsvm.weight >short.libsvm.weight && no short.libsvm
sed '3s/.*/-1/' side.libsvm.weight >short.libsvm.weight && no short.libsvm
rm short.libsvm.weight && echo 600.5 >short.libsvm.query && no short.libsvm
echo 599 >short.libsvm.query && no short.libsvm
cp side.libsvm.weight own.libsvm.weight && no own.libsvm
sed '5s/1:/x:/' side.libsvm >skip.libsvm && cp side.libsvm.weight skip.libsvm.weight
try furrow train --model lr --train skip.libsvm --on-bad skip --out no.model -q
