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
