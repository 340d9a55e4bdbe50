# what training refuses, and that it leaves nothing behind
awk 'BEGIN { r = 5; for (i = 0; i < 300; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; print (a % 3 ? 0 : 1), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
no() { # OPTIONS…
  try furrow train --defaults angel "$@"
}
no
no --model lr
no --model lr --train t.libsvm
no --model fmm --train t.libsvm --out m
no --model lr --train t.libsvm --out m --epoch 3
no --model lr --train t.libsvm --out m -D ml.epoch.mun=3
no --model lr --train t.libsvm --out m -D epochs
no --model lr --train t.libsvm --out m --epochs many
no --model lr --train t.libsvm --out m --lr -1
no --model lr --train t.libsvm --out m --optimizer adem
no --model lr --train t.libsvm --out m --rank 4
no --model lr --train t.libsvm --out m --metric rmse
no --model linear --train t.libsvm --out m --metric auc
no --model lr --train t.libsvm --out m --metric best
no --model lr --train t.libsvm --out m --resume
no --model lr --train t.libsvm --out m --history h.txt
no --model lr --train t.libsvm --out m --curve c.png
no --model lr --train t.libsvm --out m --servers 0
no --model lr --train t.libsvm --out m --has-label no
no --model lr --train missing.libsvm --out m
no --model lr --train t.libsvm --out missing/m
no --model lr --train t.libsvm --out m --load missing
no --model lr --train t.libsvm --out m --max-features 10
no --model lr --train t.libsvm --out m --range 10
no --model lr --train - --out m --stream <t.libsvm
no --model lr --train /dev/null --out m
head -n 1 t.libsvm | no --model lr --train - --out m
# rows and fields
no --model deepfm --train t.libsvm --out m
no --model deepfm --fields 3 --train t.libsvm --out m
no --model dnn --train t.libsvm --format dense --out m
sed '7s/ .*/ 0:1 22:1/' t.libsvm >zero.libsvm
no --model lr --train zero.libsvm --out m
no --model lr --train zero.libsvm --out zero --index-base 0 -q
sed '7s/ .*/ 1:1/' t.libsvm >short.libsvm
no --model wide_and_deep --fields 2 --fc 4 --train short.libsvm --out m
printf '1,2,3\n0,3,4\n' >t.csv
no --model lr --train t.csv --format csv --out m
printf '1 3:1\n0 9000000000000:1\n' >long.libsvm
no --model lr --train long.libsvm --out m
# labels
sed '7s/^[01]/7/' t.libsvm >label.libsvm
no --model softmax --train label.libsvm --out m
no --model lr --label NoTrans --train label.libsvm --out m
# a model or a checkpoint of something else, a target that exists
furrow train -q --defaults angel --model lr --train t.libsvm --out lr --epochs 2 --checkpoint kept
no --model lr --train t.libsvm --out lr
no --model lr --train t.libsvm --out kept/checkpoint
no --model fm --train t.libsvm --out m --load lr
no --model softmax --classes 3 --train t.libsvm --out m --load lr
no --model lr --train t.libsvm --out m --epochs 2 --checkpoint kept --resume --lr 0.3
head -n 200 t.libsvm >fewer.libsvm
no --model lr --train fewer.libsvm --out m --epochs 3 --checkpoint kept --resume
printf 'x' >>kept/checkpoint
no --model lr --train t.libsvm --out m --epochs 2 --checkpoint kept --resume
# a loss that is not a number
awk '{ $1 = NR % 7; print }' t.libsvm >numbers.libsvm
no --model linear --train numbers.libsvm --out m --lr 1e30 --batch 32
ls -A | grep -x -e m -e '.*tmp.*' -e '\..*' -e 'h\..*'
true
# csv that is taken for libsvm
printf 'age,bought\n1,0\n2,1\n' >my.csv
try furrow train --defaults angel --model lr --train my.csv --out x
try furrow train --defaults angel --model lr --train 'my.csv?label_column=bought' --out x
