# csv without a schema: ids count as numbers, texts are refused; both say what helps
awk 'BEGIN { print "userId,movieId,click"; for (i = 0; i < 80; i++) print i % 7 "," i % 5 "," (i % 3 == 0) }' >log.csv
train="furrow train --model lr --threads 1"
for columns in 1,2,3 1,3 2,3; do
  cut -d, -f$columns log.csv >some.csv
  try $train --train some.csv --out m --force 2>&1 | grep -E 'ids?,'
done
furrow train --model gbdt --trees 2 --train log.csv --out trees 2>&1 | grep -E 'ids?,'
$train --train log.csv --schema auto --out encoded 2>&1 | grep -cE 'ids?,'
sed '1s/.*/account,size,click/' log.csv >numbers.csv
$train --train numbers.csv --out numbers 2>&1 | grep -cE 'ids?,'
sed '5s/^/u/' log.csv >texts.csv
try $train --train texts.csv --out t
try $train --train texts.csv --format csv --out t
try $train --train texts.csv --schema auto --out t -q >report && ls t/schema.json
