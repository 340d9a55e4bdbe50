cd raw
echo "no schema"
try furrow rows encode log.csv --out o.ffm
try furrow rows encode log.csv --schema nowhere.json --out o.ffm
try furrow rows encode log.csv --dictionary nowhere --out o.ffm
try furrow rows encode nowhere.csv --schema plain.json --out o.ffm
echo "other columns"
sed 's/price/cost/' plain.json >other.json
try furrow rows encode log.csv --schema other.json --out o.ffm
sed 's/"movieId": {/"film": {"as": "category"}, "movieId": {/' plain.json >more.json
try furrow rows encode log.csv --schema more.json --out o.ffm
try furrow rows encode log.csv --schema plain.json --dictionary names --out plain.ffm -q
sed 's/price/cost/' log.csv >cost.csv
try furrow rows encode cost.csv --dictionary names --out o.ffm
cut -d, -f2- log.csv >unlabeled.csv
try furrow rows encode unlabeled.csv --dictionary names --out o.ffm
try furrow rows encode plain.ffm --dictionary names --out o.ffm
printf '{"rating": 1, "userId": "u", "movieId": "m"}\n' >log.json
try furrow rows encode log.json --schema plain.json --out o.ffm
echo "cells"
sed '3s/^3/good/' log.csv >label.csv
try furrow rows encode label.csv --schema plain.json --dictionary bad --out o.ffm
sed '4s/2.5/2,5/' log.csv >cells.csv
try furrow rows encode cells.csv --schema plain.json --dictionary bad --out o.ffm
sed '5s/,10,/,ten,/' log.csv >number.csv
try furrow rows encode number.csv --schema plain.json --dictionary bad --out o.ffm
try furrow rows encode log.csv number.csv --schema plain.json --dictionary bad --out o.ffm
try furrow rows encode number.csv --dictionary names --out o.ffm
printf '{"rating": 1, "userId": "u", "movieId": "m", "price": 1}\n{"rating": 1, "userId": ["u", "v"], "movieId": "m", "price": 1}\n' >list.json
try furrow rows encode list.json --schema plain.json --out o.ffm
sed '4s/3000/noon/' log.csv >time.csv
try furrow rows encode time.csv --schema schema.json --out o.ffm
sed '5s/4000/400/;5s/u3/u1/' log.csv >order.csv
try furrow rows encode order.csv --schema schema.json --out o.ffm
echo "tables"
cp movies.csv good.csv
sed '3s/2001/MMI/' good.csv >movies.csv
try furrow rows encode log.csv --schema schema.json --out o.ffm
(cat good.csv && echo "m1,Drama,1990") >movies.csv
try furrow rows encode log.csv --schema schema.json --out o.ffm
(cat good.csv && echo ",Drama,1990") >movies.csv
try furrow rows encode log.csv --schema schema.json --out o.ffm
sed 's/year/age/' good.csv >movies.csv
try furrow rows encode log.csv --schema schema.json --out o.ffm
rm movies.csv
try furrow rows encode log.csv --schema schema.json --out o.ffm
echo "files"
try furrow rows encode log.csv --dictionary names --out plain.ffm
try furrow rows encode log.csv --schema plain.json --dictionary names --out o.ffm
try furrow rows encode log.csv --dictionary names --out log.csv --to libffm --force
try furrow rows encode log.csv --dictionary names --out o.csv
try furrow rows encode log.csv --dictionary names --out - --to cache
try furrow rows encode log.csv --dictionary names --out - --json
cp plain.json names/schema.json
try furrow rows encode log.csv --dictionary names --out - | cmp - plain.ffm
cp hashed.json names/schema.json
try furrow rows encode log.csv --dictionary names --out o.ffm
ls
