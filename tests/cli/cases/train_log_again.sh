# train --force replaces a model of a raw log: its dictionary, and the index that recommend keeps in it
awk 'BEGIN { r = 1; print "who,what,click"; for (i = 0; i < 9000; i++) { r = r * 16807 % 2147483647; u = int(r / 65536) % 12; t = int(r / 1000) % 3000; printf "u%d,t%d,%d\n", u, t, u % 3 == t % 3 } }' >log.csv
train="furrow train --model fm --rank 3 --train log.csv --schema auto --user who --item what --label click --out m -q"
try $train
try furrow recommend --model m --users u1 -k 1 --recall 0.5 -q | cut -f 1,2
ls m
try $train
try $train --force
ls m
echo mine >m/notes.txt
try $train --force
cat m/notes.txt
