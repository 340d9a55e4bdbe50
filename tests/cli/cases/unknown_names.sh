# users and items that a model does not know are counted, never silent
awk 'BEGIN { print "user,item,click"; for (i = 0; i < 200; i++) print "u" i % 10 ",i" i % 7 "," (i * i % 7 > 2) }' >train.csv
furrow train -q --model lr --epochs 2 --threads 1 --train train.csv --schema auto --user user --item item --out model >report
printf 'user,item,click\nu1,i1,1\nnew,i2,0\nu2,gone,1\nu3,gone,0\n' >some.csv
printf 'user,item,click\ni1,u1,1\ni2,u2,0\n' >none.csv
try furrow predict --model model --data train.csv | wc -l
try furrow predict --model model --data some.csv | wc -l
try furrow predict -q --model model --data some.csv | wc -l
try furrow predict --model model --data none.csv | wc -l
try furrow predict --model model --event user=new --event item=i1 | wc -l
try furrow eval --model model --data none.csv | grep rows
try furrow eval --model model --data some.csv --json >json
is_json <json
grep unknown json
# rare names of the training data are as good as unknown
printf '{"columns": {"user": {"as": "category", "role": "user", "min_count": 20}, "item": {"as": "category", "role": "item"}, "click": {"as": "label"}}}' >rare.json
echo "seldom,i1,1" >>train.csv
try furrow train -q --model lr --epochs 2 --threads 1 --train train.csv --schema rare.json --out rare.model >report
try furrow predict --model rare.model --data train.csv | wc -l
# values of other columns: in nearly all rows, in some, in none; a column that was hardly ever known in training is not reported
awk 'BEGIN { print "city,size,rare,click"; for (i = 0; i < 200; i++) print "c" i % 9 "," (i % 3 ? "big" : "") ",r" i "," (i % 9 > 4) }' >places.csv
printf '{"columns": {"city": {"as": "category"}, "size": {"as": "category"}, "rare": {"as": "category", "min_count": 2}, "click": {"as": "label"}}}' >places.json
furrow train -q --model lr --epochs 2 --train places.csv --schema places.json --out places.model >report
furrow predict --model places.model --data places.csv | wc -l
sed '1!s/^c/town /' places.csv >towns.csv
furrow predict --model places.model --data towns.csv | wc -l
sed '1!s/^c[34],big/x,huge/' places.csv >some.csv
furrow eval --model places.model --data some.csv | grep ^rows
furrow eval --model places.model --data some.csv --json -q >json
is_json <json
grep -A 10 unknown_values json | grep -E 'column|"rows'
furrow predict -q --model places.model --data towns.csv | wc -l
furrow predict --model places.model --event city=nowhere | wc -l
head -3 towns.csv >few.csv
furrow predict --model places.model --data few.csv | wc -l
