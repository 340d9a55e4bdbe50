# --factors and --rank are two names of one setting: the same model. Messages use the name that was given.
for i in 0 1 2 3 4 5 6 7; do echo "$((i % 2)) $i:1 $((8 + i)):1"; done >rows.libsvm
train="furrow train --model fm --epochs 2 --seed 1 --threads 1 --train rows.libsvm -q"
$train --rank 3 --out by_rank
$train --factors 3 --out by_factors
$train --rank 3 --factors=3 --out by_both
$train -D factors=3 --out by_define
diff -r by_rank by_factors && diff -r by_rank by_both && diff -r by_rank by_define && echo same
try $train --factors none --out m
try $train --factors 4 --rank 6 --out m
try furrow tune --model fm --train rows.libsvm --rank 4 --factors 6
for option in --factors=3 --rank=3 '-D rank=3' '-D ml.fm.rank=3'; do
  try furrow train --model lr --train rows.libsvm $option --out m
done
