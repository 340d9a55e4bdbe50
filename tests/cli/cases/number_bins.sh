# Numbers whose effect on the label is not a straight line: linear models have them in bins, others do not.
awk 'BEGIN { r = 11; print "shop,line,curve,sold"; for (i = 0; i < 3000; i++) { r = r * 16807 % 2147483647; a = r / 2147483647 * 4 - 2
  r = r * 16807 % 2147483647; b = r / 2147483647 * 4 - 2; r = r * 16807 % 2147483647
  printf "%s,%.3f,%.3f,%s\n", substr("abc", i % 3 + 1, 1), a, b, (a + 2 * b * b - 2.7 + 2 * (r / 2147483647 - 0.5) > 0 ? "yes" : "no") } }' >log.csv
for model in lr svm deepfm gbdt; do
  furrow train --model $model --train log.csv --label sold --out $model 2>err >/dev/null
  grep -o 'column curve: unsure: .* 16 bins' err || echo "$model: no bins"
done
furrow eval --model lr --data log.csv --bins 0 | awk '/^auc/ { print ($2 > 0.97 ? "lr follows the curve" : $2) }'
furrow rows schema log.csv --label sold --json -q | grep bins || echo "no bins without --bin-numbers"
furrow rows schema log.csv --label sold --bin-numbers --json -q | grep -o '"curve": {"as": "number", "scale": "bins", "bins": 16'
