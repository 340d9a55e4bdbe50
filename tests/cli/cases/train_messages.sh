# What training says: a checkpoint of other epochs, the learning rate of FTRL, options instead of keys, rows that were skipped
for i in $(seq 0 199); do echo "$((i % 2)) $((i % 7)):1 $((8 + i % 11)):1"; done >rows.libsvm
for model in 'svm' 'lr --solver steps'; do
  rm -rf c m
  furrow train -q --model $model --train rows.libsvm --epochs 3 --checkpoint c --out m
  try furrow train -q --model $model --train rows.libsvm --epochs 6 --checkpoint c --resume --out m --force
  furrow train -q --model $model --train rows.libsvm --epochs 6 --l2 0.09375 --checkpoint c --resume --out m --force && echo resumed
done
furrow train --model svm --train rows.libsvm --dry-run | grep 'learning rate'
furrow train --model deepfm --fields 2 --train rows.libsvm --dry-run | grep -o 'learning rate.*'
# hints and notes name options
printf 'a,b\n1,2\n3,4\n' >table.csv
try furrow train -q --model lr --train table.csv --out m --force
printf '5 1:1\n7 2:1\n' >classes.libsvm
try furrow train -q --model softmax --classes 3 --label NoTrans --train classes.libsvm --out m --force
# standard input can be read once
for name in - stdin '-?format=libsvm'; do
  try furrow train -q --model lr --train - --valid "$name" --out m --force <rows.libsvm
done
try furrow tune -q --model lr --train stdin <rows.libsvm
# validation data is read by the format of the training data
sed -E 's/ ([0-9]+):1 ([0-9]+):1/ 0:\1:1 1:\2:1/' rows.libsvm >rows.libffm
cp rows.libffm rows.txt
figures() {
  furrow train --model ffm --epochs 2 --train "$1" --valid "$2" --out m --force --threads 1 2>&1 | awk '$1 == 2 { print $2, $3, $6 }'
}
figures rows.libffm rows.libffm >want
figures rows.libffm rows.txt | cmp - want && figures rows.libffm - <rows.libffm | cmp - want && figures 'rows.txt?format=libffm' - <rows.libffm | cmp - want && cut -d ' ' -f 1 want
# rows that are skipped are counted in a note
(cat rows.libsvm && echo '1 x:1') >bad.libsvm
furrow tune --model lr --train bad.libsvm --on-bad skip --runs 2 --threads 1 | grep -c 'defaults$'
furrow tune --model lr --train rows.libsvm --valid bad.libsvm --on-bad skip --runs 2 --threads 1 | grep -c 'defaults$'
furrow train --model lr --train bad.libsvm --on-bad skip --folds 2 --threads 1 | grep -c '^mean'
