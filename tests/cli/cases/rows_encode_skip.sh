cd raw
sed '3s/^3/good/;5s/,10,/,ten,/' log.csv >bad.csv
try furrow rows encode bad.csv --schema plain.json --out skipped.ffm --on-bad skip
try furrow rows encode bad.csv --schema plain.json --out skipped.ffm --on-bad skip --force --json -q | grep -E '"(rows|bad rows|bad_rows)"'
cat skipped.ffm
(cat movies.csv && echo ",Drama,1990" && echo "m9,Crime,old") >more.csv
sed 's/movies/more/' schema.json >more.json
try furrow rows encode log.csv --schema more.json --out more.ffm --on-bad skip
furrow rows encode log.csv --schema schema.json --out log.ffm -q >/dev/null
cmp log.ffm more.ffm
