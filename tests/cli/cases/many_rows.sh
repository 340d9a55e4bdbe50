# So many rows that L2 is chosen on a sample of them: ids of few rows each, most of which say nothing.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
  BEGIN { r = 7; for (i = 0; i < 101000; i++) { line = ""; for (k = 0; k < 4; k++) line = line " " k * 20000 + int(draw() * 20000) ":1"
  print (draw() < (i % 3 ? 0.3 : 0.6)), i % 3 ? "90000:1" line : "90001:1" line } }' >all.libsvm
head -n 100500 all.libsvm >many.libsvm
tail -n 500 all.libsvm >other.libsvm
furrow train --model lr --train many.libsvm --out one --threads 1 | awk '/^note/ && /held out/ { print "L2 is chosen" } /minimum was not/'
furrow train --model lr --train many.libsvm --out three --threads 3 -q
diff -r one three && echo "the same bytes"
furrow train --model lr --train many.libsvm --l2 1 --out plain -q
for model in one plain; do furrow eval --model $model --data other.libsvm --bins 0 | awk '/^logloss/ { print $2 }'; done |
  awk 'NR == 1 { chosen = $1 } NR == 2 { print (chosen < $1 - 0.003 ? "which is better than 1" : chosen " " $1) }'
