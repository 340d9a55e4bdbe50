# a column that alone gives the label away has a warning with its name and how well it does; so has an AUC of 1 of held-out rows
warn() { furrow train "$@" --out model --force 2>/dev/null | sed -n 's/^warning *//p'; }
awk 'BEGIN { r = 5; print "survived,sex,age,fare,alive,price,grade"; for (i = 0; i < 900; i++) { r = r * 16807 % 2147483647; a = int(r / 64) % 90; s = int(r / 8192) % 2; y = (a + 30 * s + int(r / 31) % 60 > 90); print y "," (s ? "female" : "male") "," a "," a * 3 + int(r / 97) % 50 "," (y ? "yes" : "no") "," a * 3.5 + 7 "," "g" a % 5 } }' >all.csv
echo "raw logs: two classes, by texts and by numbers; several classes; numbers"
warn --model gbdt --train all.csv --label survived
warn --model lr --train all.csv --label survived --folds 3
cut -d, -f1-4,6-7 all.csv >honest.csv
warn --model gbdt --train honest.csv --label survived
cut -d, -f2-5,7 all.csv >grades.csv
warn --model gbdt --train grades.csv --label grade
warn --model linear --train all.csv --label price
echo "rows of numbers"
cut -d, -f1,3,4 all.csv | awk -F, -v OFS=, 'NR == 1 { print $0, "code", "id" } NR > 1 { print $0, ($1 ? 7 : 9), NR }' >numbers.csv
warn --model lr --train numbers.csv --label survived
warn --model lr --train numbers.csv --label survived --stream
echo "few rows, and one column, show nothing"
head -60 all.csv >few.csv
warn --model gbdt --train few.csv --label survived
cut -d, -f1,5 all.csv >one.csv
warn --model lr --train one.csv --label survived
echo "an AUC of 1"
awk 'BEGIN { r = 5; for (i = 0; i < 900; i++) { r = r * 16807 % 2147483647; a = int(r / 64) % 2; b = int(r / 8192) % 2; print (a + b > 0), "1:" a, "2:" b } }' >clear.libsvm
warn --model gbdt --train clear.libsvm
