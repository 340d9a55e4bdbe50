# Trees go on with a log: rows that are held out choose how many are added, or none.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
  function event(file, turned,   a, b) {
    a = int(draw() * 10); b = int(draw() * 10)
    print a "," b ",c" int(draw() * 30) "," (draw() < (((a + b > 9) != turned) ? .8 : .2)) >file
  }
  BEGIN {
    r = 5; n = split("old same turned few", files)
    for (i = 1; i <= n; i++) print "a,b,city,click" >(files[i] ".csv")
    for (i = 0; i < 3000; i++) event("old.csv", 0)
    for (i = 0; i < 300; i++) event("same.csv", 0)
    for (i = 0; i < 600; i++) event("turned.csv", 1)
    for (i = 0; i < 99; i++) event("few.csv", 0)
  }'
train() { furrow train "$@" 2>&1; }
furrow train -q --model gbdt --train old.csv --label click --schema auto --out old >/dev/null
echo "nothing new"
train --load old --train same.csv --out same | grep -o 'no trees were added'
furrow predict --model old --data same.csv >before
furrow predict --model same --data same.csv | cmp before - && echo "predictions stay"
train --load old --train same.csv --valid old.csv --out valid | grep -o 'do not predict the validation rows better'
echo "another effect"
train --load old --train turned.csv --out turned | grep -o 'more trees, which were then grown from all 600 rows'
furrow eval -q --model turned --data turned.csv | awk '/^auc/ { print($2 > .7 ? "learned" : $2) }'
train -q --load old --train turned.csv --out old --force >/dev/null && cmp old/graph.json turned/graph.json && echo "the same in place"
echo "few rows"
try furrow train -q --load old --train few.csv --out few
train -q --load old --train few.csv --out few --trees 3 >/dev/null && echo "3 trees were added"
echo "algorithms"
furrow train -q --model fm --epochs 2 --train old.csv --label click --schema auto --out fm >/dev/null
try furrow train -q --model lr --load fm --train same.csv --out no
furrow train -q --load fm --train same.csv --out more >/dev/null && grep -o "algorithm.*fm" more/furrow.json
furrow train -q --model dnn --epochs 2 --train old.csv --label click --schema auto --out dnn >/dev/null
train --load dnn --train same.csv --epochs 1 --out deep | grep -o 'dnn may predict earlier rows worse'
