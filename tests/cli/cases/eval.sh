# figures of a model; last digits are left out
awk 'BEGIN { r = 5; for (i = 0; i < 1000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; print ((a + b) % 4 ? 0 : 1), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
furrow train -q --model fm --train t.libsvm --out fm --epochs 3 --optimizer adam --lr 0.02
furrow train -q --model linear --train t.libsvm --out linear --epochs 3 --lr 0.1
awk '{ split($2, a, ":"); $1 = a[1] % 3; print }' t.libsvm >classes.libsvm
furrow train -q --model softmax --classes 3 --train classes.libsvm --out softmax --epochs 3
furrow eval --model fm --data t.libsvm >table
awk 'NF == 2 { print $1 } NF == 3 { print $1, $2 } /^probability/' table
awk '$1 == "rows" { rows = $2 } $1 ~ /^[0-9.]+-[0-9.]+$/ { sum += $2 } END { print rows, sum }' table
furrow eval --model fm --data t.libsvm --bins 0 | wc -l | tr -d ' '
furrow eval --model fm --data t.libsvm --json --bins 2 >json
is_json <json
grep -o '"[a-z_]*":' json | tr '\n' ' ' && echo
furrow eval --model linear --data t.libsvm | awk '{ print $1, NF }'
furrow eval --model softmax --data classes.libsvm | awk '{ print $1, NF }'
# accuracy and AUC are those of the lines of predict
furrow predict --model fm --data t.libsvm | sort -t, -k2,2g | awk -F, '
  { right += ($4 > 0) == ($1 > 0) } $1 > 0 { p++; pairs += n } $1 <= 0 { n++ }
  END { print right / NR, pairs / (p * n) }' >own
awk '$1 == "accuracy" { a = $2 } $1 == "auc" { print a, $2 }' <(sort table) | paste -d ' ' - own |
  awk '{ d = $2 - $4; print ($1 - $3 < 1e-5 && $3 - $1 < 1e-5 && d < 1e-3 && -d < 1e-3 ? "as predict says" : $0) }'
furrow eval --model fm --data t.libsvm --curves c.svg >/dev/null
head -c 4 c.svg && echo
# refused
try furrow eval --model fm --data t.libsvm --curves c.svg
try furrow eval --model linear --data t.libsvm --curves l.svg | tail -n 1
sed '7s/^[0-9]*/9/' classes.libsvm >label.libsvm
try furrow eval --model softmax --data label.libsvm
: | try furrow eval --model fm --data -
try furrow eval --model fm --data t.libsvm --bins 1001
