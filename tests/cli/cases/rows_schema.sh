furrow rows schema events.csv
furrow rows schema events.csv --table titles.csv=movieId --user-history 3 --json | tee schema.json
is_json <schema.json
furrow rows schema events.csv --out out.json --threads 3 --user movieId --item userId >/dev/null
grep role out.json
echo '{"user": "a", "tags": ["x", "y"], "price": 2.5}' >a.jsonl
echo '{"user": "b", "tags": ["y"], "clicked": true}' >b.jsonl
furrow rows schema a.jsonl b.jsonl
printf 'a,b\n1,2\n3\n4,5\n' | furrow rows schema - --on-bad skip
# refused
try furrow rows schema events.csv --out out.json
try furrow rows schema events.csv --label ratings
try furrow rows schema events.csv --label rating --weight rating
try furrow rows schema events.csv --time note
try furrow rows schema events.csv --table titles.csv=movie
try furrow rows schema events.csv --table titles.csv=userId
try furrow rows schema events.csv --table titles.csv
try furrow rows schema b.jsonl --user-history 3
try furrow rows schema nothing.csv
try furrow rows schema
printf 'a,b\n1,2\n3\n' >short.csv
try furrow rows schema short.csv
# guesses, which training refuses
printf 'user,item,outcome\n' >zoo.csv
printf 'user,item,opinion\n' >opinion.csv
for i in 1 2 3 4 5 6 7 8; do
  printf 'a,x%d,ape\nb,y%d,zebra\nc,x%d,zebra\n' $i $i $i >>zoo.csv
  printf 'a,x%d,1\nb,y%d,3\nc,x%d,5\n' $i $i $i >>opinion.csv
done
for log in zoo opinion; do
  furrow rows schema $log.csv
  try furrow train --model fm --rank 2 --epochs 1 --train $log.csv --schema auto --out $log.model
  try furrow rows encode $log.csv --schema auto --out $log.ffm
done
furrow rows schema zoo.csv --out zoo.json >/dev/null
furrow train --model fm --rank 2 --epochs 1 --train zoo.csv --schema zoo.json --out zoo.model -q >/dev/null
furrow rows encode opinion.csv --schema auto --label '' --out - -q | head -n 1
furrow rows encode opinion.csv --schema auto --label opinion --out - -q | head -n 2
try furrow rows encode opinion.csv --dictionary zoo.model --label opinion --out -
furrow train --model fm --rank 2 --epochs 1 --train opinion.csv --schema auto --label '' --out o.model 2>&1 >/dev/null | grep schema:
sed 's/user,item/place,kind/' zoo.csv >plain.csv
furrow train --model lr --epochs 1 --train plain.csv --schema auto --out p.model 2>&1 >/dev/null | grep schema:
