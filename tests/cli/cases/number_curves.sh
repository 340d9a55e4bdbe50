# Rows of numbers whose effect on the label is not a straight line: csv is read through a schema with bins, other rows get a warning.
awk 'BEGIN { r = 11; for (i = 0; i < 3000; i++) { r = r * 16807 % 2147483647; a = r / 2147483647 * 4 - 2
  r = r * 16807 % 2147483647; b = r / 2147483647 * 4 - 2; r = r * 16807 % 2147483647; y = a + 2 * b * b - 2.7 + 2 * (r / 2147483647 - 0.5)
  printf "%d,%.3f,%.3f\n", (y > 0), a, b > "two.csv"; printf "%.3f,%.3f,%.3f\n", y, a, b > "bare.csv"
  printf "%d 0:%.3f 1:%.3f\n", (y > 0), a, b > "two.libsvm"; printf "%d,%.3f,%.3f\n", (a + r / 1073741824 - 1 > 0), a, b > "line.csv" } }'
sed -i 1i\\sold,line,curve two.csv
sed -i 1i\\sold,line,curve line.csv
for model in lr svm; do
  furrow train --model $model --train two.csv --label sold --out $model 2>&1 >/dev/null | grep -o 'two.csv is read as a raw log\|column curve: unsure\|column line: unsure'
  furrow eval --model $model --data two.csv --bins 0 | awk '/^auc/ { print ($2 > 0.97 ? "the curve is found" : $2) }'
done
echo "-- columns are numbers, the label is a number:"
furrow train --model linear --train bare.csv --label-column 0 --out linear 2>/dev/null >/dev/null
furrow eval --model linear --data bare.csv --bins 0 | awk '/^r2/ { print ($2 > 0.9 ? "the curve is found" : $2) }'
echo "-- no curve, or another format:"
furrow train --model lr --train line.csv --label sold --out line 2>&1 | grep -c 'raw log'
furrow train --model lr --train two.csv --label sold --format csv --out csv 2>&1 | grep -o 'raw log\|effect of feature curve is not .*A schema (auto)'
for model in lr fm svm gbdt; do
  furrow train --model $model --train two.libsvm --out rows 2>&1 --force | grep -o 'feature 1 is not a straight line'
done
furrow rows convert two.libsvm three.csv --header >/dev/null
furrow train --model lr --train three.csv --out three 2>/dev/null >/dev/null
furrow eval --model three --data three.csv --bins 0 | awk '/^auc/ { print ($2 > 0.97 ? "the curve is found" : $2) }'
echo "-- settings of a file, without a format and with one:"
furrow tune -q --model lr --train two.csv --label sold --runs 2 --conf-out best.json >/dev/null
furrow train --conf best.json --train two.csv --label sold --out best 2>&1 >/dev/null | grep -o 'two.csv is read as a raw log'
furrow eval --model best --data two.csv --bins 0 | awk '/^auc/ { print ($2 > 0.97 ? "the curve is found" : $2) }'
furrow train --conf best.json --train two.csv --label sold --format csv --out best --force 2>&1 | grep -c 'raw log'
echo "-- three classes: those of a curve, and those in an order, which straight lines tell apart:"
awk 'BEGIN { r = 3; for (i = 0; i < 1500; i++) { r = r * 16807 % 2147483647; b = r / 2147483647 * 4 - 2; r = r * 16807 % 2147483647
  printf "%d,%.3f,%.3f\n", (b * b > 0.5) + (b * b > 1.8), r / 2147483647, b > "rings.csv"; printf "%d,%.3f,%.3f\n", (b > -0.7) + (b > 0.7), r / 2147483647, b > "order.csv" } }'
for kind in rings order; do
  furrow train --model softmax --train $kind.csv --label-column 0 --out $kind 2>&1 | grep -o 'effect of feature.*straight line\|A schema with.*into bins' || echo "no warning"
done
