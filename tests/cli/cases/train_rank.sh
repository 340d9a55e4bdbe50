# fm that ranks items: users of three kinds, each with items of its kind; errors of users; negatives for other models
awk 'BEGIN { for (u = 0; u < 90; u++) for (i = 0; i < 12; i++) { item = u % 3 + 3 * ((u * 7 + i * 2) % 25); print 4, "0:" u ":1", "1:" 100 + item ":1", "2:" 200 + item % 5 ":1" } }' >log.libffm
for loss in bpr warp sampled-softmax; do
  furrow train --model fm --rank 8 --epochs 20 --lr 0.03 --loss $loss --item-fields 1,2 --train log.libffm --out $loss --threads 1 |
    awk '$1 == 20 { last = $5 } /^epoch/ { print $6, $7 } /^note/ { print } END { print (last > 0.2 ? "ranks by kind" : "NDCG " last) }' |
    sed 's/chose [0-9]* epochs/chose N epochs/'
  for threads in 2 3; do
    furrow train -q --model fm --rank 8 --epochs 20 --lr 0.03 --loss $loss --item-fields 1,2 --train log.libffm --out m --force --threads $threads
    cmp m/embedding_embedding/0 $loss/embedding_embedding/0
  done
done
grep -oE '"item_fields" : "1,2"|"ndcg"' bpr/furrow.json
# the user 0 and an item of his kind, or of another one
printf '1 0:0:1 1:100:1 2:200:1\n1 0:0:1 1:101:1 2:201:1\n' >two.libffm
furrow predict --model bpr --data two.libffm | awk -F, '{ z[NR] = $2 } END { print (z[1] > z[2] ? "his kind first" : "wrong order") }'
furrow eval --model bpr --data two.libffm
for wrong in '--loss bpr' '--loss bpr --item-fields 9' '--loss bpr --item-fields 1,x' '--loss bpr --item-fields 0 --user-fields 0' '--loss warp --item-fields 1 --positive-from 5' \
  '--loss bpr --item-fields 1 --optimizer sgd' '--loss bpr --item-fields 1 --stream' '--loss bpr --item-fields 1 --folds 3' '--loss bpr --item-fields 1 --checkpoint c' '--loss bpr --item-fields 1 --metric auc' \
  '--negatives 2' '--negatives 2 --loss l2 --item-fields 1' '--negative-sampling popularity'; do
  try furrow train -q --model fm $wrong --train log.libffm --out n
done
try furrow train -q --model deepfm --loss bpr --item-fields 1 --train log.libffm --out n
sed 's/ [0-9]*:/ /g' log.libffm >plain.libsvm
try furrow train -q --model fm --loss bpr --item-fields 1 --train plain.libsvm --out n
sed '3s/^4/0/' log.libffm >mixed.libffm
try furrow train -q --model fm --negatives 2 --item-fields 1,2 --train mixed.libffm --out n
furrow train --model fm --rank 8 --epochs 3 --loss bpr --item-fields 1 --train mixed.libffm --out n | grep "not positives"
head -12 log.libffm | sed 's/1:[0-9]*:1/1:100:1/' >one.libffm
try furrow train -q --model fm --loss bpr --item-fields 1 --train one.libffm --out o
furrow train --model gbdt --negatives 3 --item-fields 1,2 --train log.libffm --out trees --trees 5 | grep -c '^ *[1-5] '
sed 's/^4/1/' log.libffm >ones.libffm
furrow eval --model trees --data ones.libffm | grep rows
