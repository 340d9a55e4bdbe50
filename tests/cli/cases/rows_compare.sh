# What has changed between two logs: unknown values, shares of values, numbers, labels; by an encoder of A or of a model.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
  BEGIN {
    r = 3; print "user,color,price,tags,click" >"a.csv"; print "user,color,price,tags,click" >"b.csv"; print "user,color,price,tags,click" >"same.csv"
    for (i = 0; i < 900; i++) {
      day = i % 3
      color = draw() < (day == 1 ? .8 : .3) ? "red" : "blue"
      if (day == 1 && draw() < .25) color = "green"
      price = (day == 1 ? 40 : 0) + int(1000 * draw()) / 10
      print "u" int(draw() * 20) "," color "," price "," (draw() < .5 ? "x|y" : "z") "," (draw() < .4) >(day == 0 ? "a.csv" : day == 1 ? "b.csv" : "same.csv")
    }
  }'
echo '{"columns": {"user": {"as": "category", "role": "user"}, "color": {"as": "category"}, "price": {"as": "number", "scale": "standard"}, "tags": {"as": "set", "separator": "|"}, "click": {"as": "label"}}}' >s.json
shown() { awk 'NR == 1 || /^rows/ { print; next } { print $1, ($2 < .1 ? "little" : $2 > .25 ? "much" : "some"), $3, $4, ($5 == "-" ? "-" : $5 > 20 ? "outside" : "inside"), $6 }'; }
furrow rows compare a.csv b.csv --schema s.json --threshold .25 | shown
furrow rows compare a.csv same.csv --schema s.json --threshold .25 | shown
furrow rows compare a.csv b.csv --schema s.json --threshold .25 >/dev/null; echo "exit $?"
furrow rows compare a.csv same.csv --schema s.json --threshold .25 >/dev/null; echo "exit $?"
furrow rows compare a.csv a.csv --schema s.json --json | grep -E 'psi|new_labels' | sort | uniq -c
furrow train -q --model lr --train a.csv --schema s.json --out m >/dev/null
diff <(furrow rows compare a.csv b.csv --model m) <(furrow rows compare a.csv b.csv --schema s.json) && echo "the same by the model"
furrow train -q --model lr --load m --train b.csv --out m2 >/dev/null
furrow rows compare a.csv b.csv --model m2 | awk '$1 == "color" { print $3, $4 }'
sed '2s/[01]$/7/' b.csv >labels.csv
furrow rows compare a.csv labels.csv --schema s.json | tail -1 | grep -o 'labels.*'
try furrow rows compare a.csv b.csv --model m --label click
try furrow rows compare a.csv nowhere.csv --schema s.json
cut -d, -f 1-3,5 b.csv >narrow.csv && try furrow rows compare a.csv narrow.csv --schema s.json
