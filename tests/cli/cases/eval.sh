# figures of a model; last digits are left out
awk 'BEGIN { r = 5; for (i = 0; i < 1000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; print ((a + b) % 4 ? 0 : 1), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
furrow train -q --defaults angel --model fm --train t.libsvm --out fm --epochs 3 --optimizer adam --lr 0.02
furrow train -q --defaults angel --model linear --train t.libsvm --out linear --epochs 3 --lr 0.1
awk '{ split($2, a, ":"); $1 = a[1] % 3; print }' t.libsvm >classes.libsvm
furrow train -q --defaults angel --model softmax --classes 3 --train classes.libsvm --out softmax --epochs 3
furrow eval --model fm --data t.libsvm >table
awk 'NF == 0 { exit } !/^warning/ { sub(/ +[^ ]*$/, ""); print }' table
sed -n '/^label/,/^$/p' table | awk '{ print $1, NF }'
grep '^probability' table
awk '$1 == "rows" { rows = $2 } $1 ~ /^[0-9.]+-[0-9.]+$/ { sum += $2 } END { print rows, sum }' table
furrow eval --model fm --data t.libsvm --bins 0 | grep -c probability
furrow eval --model fm --data t.libsvm --json --bins 2 >json
is_json <json
grep -o '"[a-z_0-9]*":' json | tr '\n' ' ' && echo
furrow eval --model linear --data t.libsvm | awk '!/^warning/ { print $1, NF }'
furrow eval --model softmax --data classes.libsvm | awk '!/^warning/ { print $1, NF }'
# the rows of classes and of the confusion matrix are those of the data, and as many as are right
furrow eval --model fm --data t.libsvm --bins 0 | awk '
  /^label/ { part++; next } $1 == "rows" { rows = $2 } $1 == "accuracy" { right = $2 * rows }
  part == 1 && NF { counted += $2 } part == 2 && NF { matrix += $2 + $3; diagonal += $(2 + n++) }
  END { print counted == rows && matrix == rows && diagonal == int(right + 0.5) ? "add up" : "do not add up" }'
# a model that is worse than a constant, weights, one class alone
awk '{ $1 = 1 - $1; print }' t.libsvm >wrong.libsvm
furrow train -q --model lr --train wrong.libsvm --out bad
furrow eval --model bad --data t.libsvm | grep ^warning | sed 's/is .*/is …/'
furrow eval --model bad --data t.libsvm --json | grep -c '"worse than a constant: logloss'
awk '{ $1 = $1 ? "1:0.5" : "0:2"; print }' t.libsvm >weights.libsvm
furrow eval --model fm --data weights.libsvm --bins 0 | awk '/^label  / { getline; print $1, $2; getline; print $1, $2 }'
grep ^0 t.libsvm >one.libsvm
furrow eval --model fm --data one.libsvm | grep -e ^auc -e ^warning -e ^constant
# more classes than a table holds
awk '{ split($2, a, ":"); $1 = a[1]; print; $1 = 0; print }' t.libsvm | head -n 400 >many.libsvm
furrow train -q --defaults angel --model softmax --classes 22 --train many.libsvm --out many --epochs 1
furrow eval --model many --data many.libsvm | sed -n '/^label/,$p' | awk 'NR == 1 || /more/ { print } END { print NR }'
furrow eval --model many --data many.libsvm --json | tr -d ' \n' | grep -o '"label":"21"'
# accuracy and AUC are those of the lines of predict
furrow predict --model fm --data t.libsvm | sort -t, -k2,2g | awk -F, '
  { right += ($4 > 0) == ($1 > 0) } $1 > 0 { p++; pairs += n } $1 <= 0 { n++ }
  END { print right / NR, pairs / (p * n) }' >own
awk '$1 == "accuracy" { a = $2 } $1 == "auc" { print a, $2 }' <(sort table) | paste -d ' ' - own |
  awk '{ d = $2 - $4; print ($1 - $3 < 1e-5 && $3 - $1 < 1e-5 && d < 1e-5 && -d < 1e-5 ? "as predict says" : $0) }'
furrow eval --model fm --data t.libsvm --curves c.svg >/dev/null
head -c 4 c.svg && echo
# classes have the labels of the data
awk 'BEGIN { for (i = 0; i < 60; i++) print 1 + (i > 25), "1:" i }' >from1.libsvm
furrow train -q --model lr --train from1.libsvm --out from1
furrow eval --model from1 --data from1.libsvm --bins 0 | awk '/^label/ { part++ } part { print $1 }'
head -n 1 from1.libsvm | furrow predict --model from1 --data - --probabilities | tr ',' '\n' | sed -n 's/:.*//p'
awk 'BEGIN { for (i = 0; i < 60; i++) print 1 + int(i / 20), "1:" i }' >from1_3.libsvm
furrow train -q --model softmax --train from1_3.libsvm --out from1_3
furrow eval --model from1_3 --data from1_3.libsvm --json | tr -d ' \n' | grep -o '"label":"[0-9]*"'
# refused
try furrow eval --model fm --data t.libsvm --curves c.svg
try furrow eval --model linear --data t.libsvm --curves l.svg | tail -n 1
sed '7s/^[0-9]*/9/' classes.libsvm >label.libsvm
try furrow eval --model softmax --data label.libsvm
: | try furrow eval --model fm --data -
try furrow eval --model fm --data t.libsvm --bins 1001
sed '4s/^[0-9]*/1:-2/' t.libsvm >negative.libsvm
try furrow eval --model fm --data negative.libsvm
furrow train -q --defaults angel --model gbdt --train t.libsvm --out gbdt --trees 2
try furrow eval --model gbdt --data negative.libsvm
