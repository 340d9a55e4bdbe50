# whole numbers that users give items are ratings, not classes
awk 'BEGIN { print "userId,movieId,rating"; for (i = 0; i < 400; i++) { u = i % 20; m = int(i * 7 / 3) % 15; print "u" u ",m" m "," 1 + int(i * i / 3) % 5 } }' >log.csv
train="furrow train --epochs 2 --rank 2 --seed 1 --threads 1"
for model in fm ffm deepfm; do
  try $train --model $model --train log.csv --schema auto --out $model.model 2>&1 | grep "labels are"
  furrow eval -q --model $model.model --data log.csv | awk '$1 == "rmse" { print $1, ($2 < 3) }'
done
# classes that the schema lists are not; nor are those of rows without users
cat >classes.json <<END
{"columns": {"userId": {"as": "category", "role": "user"}, "movieId": {"as": "category", "role": "item"}, "rating": {"as": "label", "classes": ["1", "2", "3", "4", "5"]}}}
END
try $train -q --model ffm --train log.csv --schema classes.json --out classes.model
try furrow train -q --model lr --train log.csv --schema auto --out lr.model
sed 's/"role": "user"/"min_count": 1/; s/, "classes".*]//' classes.json >nobody.json
try $train -q --model ffm --train log.csv --schema nobody.json --out nobody.model
