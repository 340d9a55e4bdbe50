# fm and deep models with losses of regression: labels as they are, figures of regression, the loss in graph.json
awk 'BEGIN { r = 5; for (i = 0; i < 2000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 8; b = int(r / 64) % 8; print 10 + 3 * ((a + b) % 2) - a / 4, a + 1 ":1", b + 9 ":1" } }' >t.libsvm
furrow train -q --defaults angel --model linear --range 16 --train t.libsvm --out linear --epochs 60 --lr 0.3 --batch 50
furrow eval --model linear --data t.libsvm | awk '/^rmse/ { print ($2 > 1.4 && $2 < 1.6 ? "linear misses the products" : "linear: " $2) }'
for model in fm wide_and_deep deepfm pnn nfm dnn; do
  for loss in l2 huber; do
    case $model in
    fm) shape='--rank 6' ;;
    dnn) shape='--input-width 32 --fc 16' ;;
    nfm) shape='--rank 12 --fc 32' ;;
    *) shape='--rank 6 --fields 2 --fc 32' ;;
    esac
    furrow train -q --defaults angel --model $model $shape --range 16 --loss $loss --train t.libsvm --out m --force --optimizer adam --lr 0.03 --init-embedding 0.3 --epochs 60 --batch 50 --keep-best --metric rmse
    grep -oE '"(L2|Huber)Loss"' m/graph.json
    furrow eval --model m --data t.libsvm | awk -v model=$model '/^rmse/ { print model, ($2 < 0.3 ? "learns them" : "rmse " $2) } /^auc/'
  done
done
# labels that cannot be classes are numbers where the loss is a key; others are told what fits
awk '{ $1 += NR / 7000; print }' t.libsvm >real.libsvm
for model in fm dnn; do
  furrow train --model $model --train real.libsvm --out real_$model | grep 'the labels'
  grep -oE '"(L2|Huber)Loss"' real_$model/graph.json
  furrow eval --model real_$model --data real.libsvm | awk '/^rmse/ { print ($2 < 0.2 ? "learned" : $2) }'
done
try furrow train -q --model lr --train real.libsvm --out n
awk '{ $1 = int($1); print }' t.libsvm >whole.libsvm
try furrow train -q --model ffm --train whole.libsvm --out n
try furrow train -q --defaults angel --model fm --loss l2 --train t.libsvm --out n --metric auc
try furrow train -q --defaults angel --model fm --loss squared --train t.libsvm --out n
try furrow train -q --defaults angel --model ffm --fields 2 --loss softmax --train t.libsvm --out n
try furrow train -q --defaults angel --model svm --loss l2 --train t.libsvm --out n
# Counts: their means by weights, and as the loss of nets. --load goes on with the loss
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 } BEGIN { r = 5; for (i = 0; i < 1500; i++) { a = draw(); b = draw()
  for (n = 0; draw() < 1 - 1 / (1 + exp(2 * a - b)); n++); print n, "1:" a, "2:" b } }' >counts.libsvm
furrow train -q --model linear --loss poisson --train counts.libsvm --out counts
furrow predict --model counts --data counts.libsvm | awk -F, '{ sum += $2; if ($2 <= 0) bad++ } END { print (sum / NR > 1.5 && sum / NR < 2.5), bad + 0 }'
furrow eval --model counts --data counts.libsvm | awk '/^(loss|deviance|constant loss)/ { v[$1] = $NF } END { print v["loss"] < v["constant"], v["loss"] == v["deviance"] }'
furrow train -q --model linear --load counts --train counts.libsvm --out more && grep -o '"PoissonLoss"' more/graph.json
try furrow train -q --model linear --loss l2 --load counts --train counts.libsvm --out n
try furrow train -q --model linear --loss poisson --load linear --train counts.libsvm --out n
for model in fm deepfm; do
  furrow train -q --model $model --loss poisson --start random --train counts.libsvm --out $model.counts
  furrow eval --model $model.counts --data counts.libsvm | awk '/^(deviance|constant loss)/ { v[$1] = $NF } END { print v["deviance"] < v["constant"] }'
done
sed '3s/^/-/; 4s/^/-1/' counts.libsvm >negative.libsvm
try furrow train -q --model linear --loss poisson --train negative.libsvm --out n
try furrow eval --model counts --data negative.libsvm
try furrow train -q --model linear --loss huber --train counts.libsvm --out n
try furrow train -q --model linear --objective poisson --train counts.libsvm --out n
try furrow train -q --model gbdt --loss poisson --train counts.libsvm --out n
