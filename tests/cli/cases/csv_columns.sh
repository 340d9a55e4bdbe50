# a model knows the columns of its csv by name: another order, extra and missing ones, no label, other delimiters
awk 'BEGIN { print "\"size, cm\",a&b,name with space,größe,y"; r = 5; for (i = 0; i < 300; i++) { for (k = 0; k < 4; k++) { r = r * 16807 % 2147483647; z[k] = r / 2147483647 } print 1000 * z[0] "," z[1] "," 5000 + z[2] "," z[3] / 1000 "," (z[0] + z[3] > 1 ? "2" : "1") } }' >n.csv
accuracy() { furrow eval --model "$1" --data "$2" | awk '/^accuracy/ { print ($2 > 0.95 ? "right" : "accuracy " $2) }'; }
furrow train -q --model lr --train 'n.csv?label_column=y' --out m
grep -E '"(columns|label_column|labels)"' m/furrow.json
accuracy m n.csv
furrow predict --model m --data n.csv | cut -d, -f2- >wanted

echo "another order"
awk -F, -v OFS=, 'NR == 1 { print "y,größe,a&b,\"size, cm\",name with space" } NR > 1 { print $5, $4, $2, $1, $3 }' n.csv >order.csv
accuracy m order.csv
furrow predict --model m --data order.csv | cut -d, -f2- | cmp - wanted && echo same scores
furrow train -q --model lr --load m --train order.csv --out further
accuracy further n.csv

echo "an extra column"
awk -F, -v OFS=, 'NR == 1 { print "extra,y,größe,a&b,\"size, cm\",name with space" } NR > 1 { print 99, $5, $4, $2, $1, $3 }' n.csv >extra.csv
try furrow predict --model m --data extra.csv
furrow predict --model m --data 'extra.csv?extra=ignore' | cut -d, -f2- | cmp - wanted && echo same scores

echo "no label"
awk -F, -v OFS=, 'NR == 1 { print "größe,a&b,\"size, cm\",name with space" } NR > 1 { print $4, $2, $1, $3 }' n.csv >nolabel.csv
furrow predict --model m --data nolabel.csv | cut -d, -f2- | cmp - wanted && echo same scores
try furrow eval --model m --data nolabel.csv
try furrow train -q --model lr --train 'nolabel.csv?label_column=y' --out none

echo "a missing column"
awk -F, -v OFS=, 'NR == 1 { print "y,größe,a&b,name with space" } NR > 1 { print $5, $4, $2, $3 }' n.csv >missing.csv
try furrow predict --model m --data missing.csv
try furrow eval --model m --data missing.csv
try furrow train -q --model lr --load m --train missing.csv --out none

echo "another format"
printf '1 0:5 1:2\n2 0:7 3:1\n' >rows.libsvm
try furrow rows dump 'rows.libsvm?format=csv&columns=a,b'

echo "other delimiters"
awk '{ gsub(",", "|"); sub(/"size\| cm"/, "size, cm"); print }' n.csv >bar.csv
tr '|' ';' <bar.csv >semicolon.csv
tr '|' '\t' <bar.csv >tab.csv
for kind in bar semicolon tab; do
  accuracy m $kind.csv
  furrow train -q --model lr --train "$kind.csv?label_column=y" --out $kind
  furrow predict --model $kind --data order.csv | cut -d, -f2- | cmp - wanted && echo same scores
done

echo "standard input, streams"
furrow predict --model m --data - <order.csv | cut -d, -f2- | cmp - wanted && echo same scores
furrow train -q --model lr --stream --train 'n.csv?label_column=y' --out streamed
accuracy streamed order.csv
