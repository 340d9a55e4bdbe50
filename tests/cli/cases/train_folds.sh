# cross-validation: a line for each fold, means, deviations; the same for any number of threads; what it refuses
awk 'BEGIN { r = 5; for (i = 0; i < 600; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; r = r * 16807 % 2147483647; print (a % 3 && r % 10 ? 0 : r % 5 ? 1 : 0), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
furrow train --model gbdt --trees 5 --train t.libsvm --folds 4 | awk '{ print $1, ($2 ~ /\./ ? "-" : $2), NF }'
ls -d m 2>/dev/null
furrow train --model fm --epochs 3 --train t.libsvm --folds 3 --json --threads 1 >one
furrow train --model fm --epochs 3 --train t.libsvm --folds 3 --json --threads 3 | cmp - one && grep -c '"auc"' one
# then a model of all rows, which keeps the figures
furrow train -q --model lr --train t.libsvm --folds 3 --out m && furrow train -q --model lr --train t.libsvm --out plain
grep -A 3 '"folds"' m/furrow.json
grep -o '"mean"' m/furrow.json
rm m/furrow.json plain/furrow.json && diff -r m plain && echo "the model is that of all rows"
no() { try furrow train --model lr --train t.libsvm "$@"; }
no --folds 1
no --folds 256
no --folds 3 --valid t.libsvm
no --folds 3 --stream
no --folds 3 --load plain
no --folds 3 --checkpoint c
no --folds 3 --history h.csv
no --folds 3 --dry-run
no --folds 3 --metric rmse
head -n 4 t.libsvm >few.libsvm
try furrow train --model linear --train few.libsvm --folds 5
try furrow train --model lr --folds 3 --train - <t.libsvm
# weights of classes
no --class-weights 1,2,3 --out w
no --class-weights equal --out w
no --class-weights balanced --out w -q
try furrow train --model linear --class-weights balanced --train t.libsvm --out v
for m in plain w; do furrow predict --model $m --data t.libsvm | awk -F, '{ s += $3 } END { print (s / NR > 0.3 ? "above 0.3" : "below 0.3") }'; done
