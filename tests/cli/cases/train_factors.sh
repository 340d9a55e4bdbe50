# --factors and --rank are two names of one setting: the same model; the last one given counts
for i in 0 1 2 3 4 5 6 7; do echo "$((i % 2)) $i:1 $((8 + i)):1"; done >rows.libsvm
train="furrow train --model fm --epochs 2 --seed 1 --threads 1 --train rows.libsvm -q"
$train --rank 3 --out by_rank
$train --factors 3 --out by_factors
$train --rank 5 --factors=3 --out by_last
diff -r by_rank by_factors && diff -r by_rank by_last && echo same
try furrow train --model fm --train rows.libsvm --factors none --out m
try furrow train --model lr --train rows.libsvm --factors 3 --out m
