# A linear model that holds no rows out is judged on a fifth of the rows with a model of the others, and stays the same.
awk 'BEGIN { r = 5; for (i = 0; i < 200; i++) { printf "%d", i % 2; for (c = 1; c <= 30; c++) { r = r * 16807 % 2147483647; \
  printf " %d:%.3f", c, r / 2147483647 - 0.5 } print "" } }' >noise.libsvm
for model in svm "lr --lr 0.3"; do
  furrow train --model $model --train noise.libsvm --out judged --force | grep -o '^warning.*held-out'
  furrow train --model $model --train noise.libsvm --out alone --force --valid-ratio 0 | grep held-out || echo 'not judged'
  furrow model diff judged alone | tail -1
done
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 2, "1:" (i % 2 * 2 - 1 + i % 7 / 3) }' >line.libsvm
furrow train --model svm --train line.libsvm --out line | grep '^warning' || echo 'no warning'
