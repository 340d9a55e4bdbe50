cd raw
# A table has the same features in UTF-8 and in Windows-1252; UTF-16 is refused.
awk 'BEGIN {
  print "stück;preis;ort;y"
  for (i = 0; i < 200; i++) printf "%d;%d,%02d €;%s;%d\n", i % 40, i * 37 % 100, i % 100, i % 3 ? "Köln" : i % 2 ? "Ulm" : "München", (i * 37 % 100 > 50)
}' >utf8.csv
sed 's/ü/\xfc/g; s/ö/\xf6/g; s/€/\x80/g' utf8.csv >windows.csv
for file in utf8 windows; do
  try furrow rows schema $file.csv --label y
  try furrow rows schema $file.csv --label y --out $file.json -q >report
  try furrow rows encode $file.csv --schema $file.json --out $file.ffm >report
done
cmp utf8.json windows.json && cmp utf8.ffm windows.ffm && echo same
# A model of one reads the other.
try furrow train --model lr --train utf8.csv --schema auto --label y --seed 1 --out encodings.model -q >report
for file in utf8 windows; do
  try furrow predict --model encodings.model --data $file.csv >$file.txt
done
cmp utf8.txt windows.txt && echo same
# So are the names of columns of numbers.
awk 'BEGIN { print "gr\303\266\303\237e,y"; for (i = 0; i < 60; i++) print i * 7 % 60 "," i % 2 }' >numbers8.csv
sed 's/ö/\xf6/; s/ß/\xdf/' numbers8.csv >numbers.csv
try furrow train --model lr --train numbers.csv --label-column y --out numbers.model -q >report
try furrow model weights numbers.model | grep -o größe
try furrow eval --model numbers.model --data numbers8.csv -q | grep ^rows
printf '\377\376a\0;\0b\0\n\0001\0;\0002\0\n\0' >utf16.csv
try furrow rows schema utf16.csv
try furrow train --model lr --train utf16.csv --label b --out utf16.model
