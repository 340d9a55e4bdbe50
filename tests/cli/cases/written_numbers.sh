cd raw
# The price alone decides: how it is written must not matter.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
BEGIN {
  r = 11
  print "price;preis;shop;y"
  for (i = 0; i < 1500; i++) {
    p = int(draw() * 300000) / 100; w = int(p); c = sprintf("%02d", (p - w) * 100 + 0.5) % 100
    us = w < 1000 ? w : int(w / 1000) "," sprintf("%03d", w % 1000)
    de = w < 1000 ? w : int(w / 1000) "." sprintf("%03d", w % 1000)
    printf "$%s.%02d;%s,%02d €;s%d;%d\n", us, c, de, c, draw() * 4, (p > 1300)
  }
}' >prices.csv
for column in price preis; do
  # only one of the two
  awk -F';' -v c="$column" '{print (c == "price" ? $1 : $2) ";" $3 ";" $4}' prices.csv >one.csv
  head -1001 one.csv >train.csv
  (head -1 one.csv && tail -500 one.csv) >test.csv
  furrow rows schema train.csv --label y --json -q | grep -o '"as": "number".*"unit": "[^"]*"'
  for model in gbdt lr; do
    rm -rf written.model
    try furrow train --model $model --train train.csv --schema auto --label y --seed 1 --out written.model -q >report
    furrow eval --model written.model --data test.csv -q | awk -v m=$model '$1 == "accuracy" {print m, ($2 > 0.9 ? "above 0.9" : $2)}'
  done
done
# Raw log and encoded rows are scored alike.
try furrow predict --model written.model --data test.csv -q >raw.txt
try furrow rows encode test.csv --dictionary written.model --out test.ffm -q >report
try furrow predict --model written.model --data test.ffm --format libffm -q >rows.txt
cmp raw.txt rows.txt && echo same
# What cannot be decided is reported.
printf 'a;y\n1,234;0\n5,678;1\n9,012;0\n' >open.csv
try furrow rows schema open.csv --label y
# Points between groups of digits, and cells that are not numbers.
printf 'a;y\n1.173;0\n992;1\n12.050;0\n' >points.csv
try furrow rows schema points.csv --label y
tr ';' ',' <points.csv >points2.csv
try furrow rows schema points2.csv --label y
printf 'a;y\n1.5;0\n#DIV/0!;1\n2.5;0\n' >mixed.csv
try furrow rows schema mixed.csv --label y
# Cells that stand for missing values, and the minus after the digits.
awk 'BEGIN {
  print "amount,size,y"
  for (i = 0; i < 40; i++) printf "%s,%s,%d\n", i % 4 ? i * 7 % 40 + 0.25 (i % 3 ? "" : "-") : i % 8 ? "error" : "#REF!", i % 2 ? "S" : 38 + i % 3, i % 2
}' >markers.csv
try furrow rows schema markers.csv --label y
try furrow rows schema markers.csv --label y --out markers.json -q >report
grep amount markers.json
try furrow rows encode markers.csv --schema markers.json --out markers.ffm -q >report
head -5 markers.ffm
# A cell of another form is refused, with its line.
sed '5s/€/USD/' test.csv >bad.csv
try furrow predict --model written.model --data bad.csv -q
