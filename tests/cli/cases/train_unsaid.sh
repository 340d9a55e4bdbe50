# what nobody says is found in the data, and what is wrong with it is said
# the column of the labels, by its name; empty cells; two columns of one name
awk 'BEGIN { r = 5; print "age,income,Label"; for (i = 0; i < 700; i++) { r = r * 16807 % 2147483647; a = 20 + int(r / 65536) % 40; n = int(r / 64) % 100000; print (i % 7 ? a : "") "," n "," (a + r % 10 > 45) } }' >gaps.csv
furrow train --model lr --train gaps.csv --out lr | grep -E '^(note|warning)'
furrow train --model gbdt --train gaps.csv --out gbdt | grep -E '^(note|warning)'
furrow eval --model gbdt --data gaps.csv --bins 0 | awk '/^auc/ { print ($2 > 0.95 ? "good trees" : $2) }'
sed 1s/income/age/ gaps.csv >twice.csv
try furrow train -q --model lr --train twice.csv --out none
# a table without names has a number of columns, with and without the label; dense rows need not be counted
sed 1d gaps.csv | awk -F, -v OFS=, '$1 != "" { print $3, $1, $2 }' >bare.csv
furrow train -q --model lr --train bare.csv --label-column 0 --out bare
furrow predict --model bare --data bare.csv | cut -d, -f2 >scores
cut -d, -f2- bare.csv >new.csv
try furrow predict --model bare --data new.csv
furrow predict --model bare --data new.csv -D has-label=no | cut -d, -f2 | cmp - scores && echo "the same scores without labels"
sed 's/$/,7/' bare.csv >wide.csv
try furrow predict --model bare --data wide.csv
tr , ' ' <bare.csv >rows.dense
furrow train -q --model lr --train rows.dense --format dense --out dense
furrow predict --model dense --data rows.dense | wc -l | tr -d ' '
# features that the model does not have
awk '{ print $1, 1000 + $2 ":1" }' rows.dense >far.libsvm
awk '{ print $1, $2 ":1" }' rows.dense >near.libsvm
furrow train -q --model lr --train near.libsvm --out near
furrow predict --model near --data far.libsvm | wc -l | tr -d ' '
furrow predict --model near --data near.libsvm | wc -l | tr -d ' '
# trees of two features see both of them; large labels of robust; nothing to learn
awk 'BEGIN { r = 5; for (i = 0; i < 2000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 90; b = int(r / 64) % 90; print (int(a / 30) + int(b / 30)) % 3, "1:" a, "2:" b } }' >board.libsvm
furrow train -q --model gbdt --objective multi:softmax --train board.libsvm --out board
furrow eval --model board --data board.libsvm --bins 0 | awk '/^accuracy/ { print ($2 > 0.95 ? "good trees" : $2) }'
awk '{ split($2, a, ":"); split($3, b, ":"); print 3e7 * (a[2] + b[2]), $2, $3 }' board.libsvm >yen.libsvm
furrow train -q --model robust --train yen.libsvm --out robust
furrow eval --model robust --data yen.libsvm --bins 0 | awk '/^r2/ { print ($2 > 0.95 ? "good line" : $2) }'
printf '1 1:0 2:0\n0 1:0 2:0\n1 1:0\n0 2:0\n' >zeros.libsvm
furrow train --model lr --train zeros.libsvm --out zeros | grep ^warning
# features that are too large
printf '1 3:1\n0 9000000000000:1\n' >large.libsvm
try furrow train -q --model gbdt --train large.libsvm --out none
try furrow train -q --model lr --train large.libsvm --out none
# NA is not a class, though none may be one; the numbers of three classes have distances, which the names do not
awk 'BEGIN { split("none minor major", n, " "); print "size,damage"; for (i = 0; i < 90; i++) print i * 7 % 30 "," (i == 60 ? "NA" : n[1 + int(i * 7 % 30 / 10)]) }' >damage.csv
try furrow train -q --model softmax --train damage.csv --label damage --out none
furrow train --model softmax --train damage.csv --label damage --on-bad skip --out damage 2>stderr | grep ^note
grep malformed stderr
furrow train --model linear --train damage.csv --label damage --on-bad skip --out amounts 2>&- | grep ^warning
