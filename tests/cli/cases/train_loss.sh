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
try furrow train -q --model fm --train whole.libsvm --out n
try furrow train -q --defaults angel --model fm --loss l2 --train t.libsvm --out n --metric auc
try furrow train -q --defaults angel --model fm --loss squared --train t.libsvm --out n
try furrow train -q --defaults angel --model fm --loss softmax --train t.libsvm --out n
try furrow train -q --defaults angel --model svm --loss l2 --train t.libsvm --out n
