# A model goes on with a log that has new users and items: they are learned, and the others are not forgotten.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
  function bell(   i, s) { s = -6; for (i = 0; i < 12; i++) s += draw(); return s }
  function event(file, u, items,   i, z) {
    i = int(draw() * items); z = user[u] + item[i]
    print "u" u ",i" i "," (draw() < 1 / (1 + exp(-z))) >file
  }
  BEGIN {
    r = 11; n = split("day1 day2 old new", files)
    for (i = 1; i <= n; i++) print "user,item,click" >(files[i] ".csv")
    for (u = 0; u < 400; u++) user[u] = bell()
    for (i = 0; i < 60; i++) item[i] = bell()
    for (k = 0; k < 20; k++) for (u = 0; u < 300; u++) event("day1.csv", u, 50)
    for (k = 0; k < 20; k++) for (u = 200; u < 400; u++) event("day2.csv", u, 60)
    for (k = 0; k < 15; k++) for (u = 0; u < 400; u++) event(u < 300 ? "old.csv" : "new.csv", u, u < 300 ? 50 : 60)
  }'
(cat day1.csv && tail -n +2 day2.csv) >all.csv
fit() { furrow train -q --model "$1" --seed 1 "${@:2}" >/dev/null; }
auc() { furrow eval -q --model "$1" --data "$2.csv" | awk '/^auc/ { print $2 }'; }
compare() { # model, tolerance: new users as if trained with everything, old ones no worse than before
  fit "$1" --train day1.csv --user user --item item --label click --schema auto --out "$1.one"
  fit "$1" --train all.csv --user user --item item --label click --schema auto --out "$1.all"
  fit "$1" --load "$1.one" --train day2.csv --out "$1.two"
  awk -v one="$(auc "$1.one" old)" -v two="$(auc "$1.two" old)" -v new="$(auc "$1.two" new)" -v all="$(auc "$1.all" new)" -v model="$1" \
    'BEGIN { print model ":", (new > all - .01 ? "new users are learned" : "new " new " " all), (two > one - .005 ? "old ones are kept" : "old " two " " one) }'
}
compare lr
compare fm
compare svm
echo "what was added"
furrow train --model lr --load lr.one --train day2.csv --out again 2>&1 >/dev/null | grep -v 'L2 is'
furrow model diff lr.two again | grep -c '^equal *yes'
furrow train --model lr --load lr.two --train day2.csv --out third 2>&1 >/dev/null
echo "a bound"
furrow train --model lr --load lr.one --train day2.csv --max-features 360 --out bounded 2>&1 >/dev/null
echo "columns"
sed 's/^user,/person,/' day2.csv >renamed.csv
try furrow train -q --model lr --load lr.one --train renamed.csv --out no
awk '{ print $0 (NR == 1 ? ",device" : ",phone") }' day2.csv >wider.csv
furrow train --model lr --load lr.one --train wider.csv --out wider 2>&1 >/dev/null
furrow train --model lr --load lr.one --train - --out piped <day2.csv 2>&1 >/dev/null | grep 'standard input'
echo "trees, recommendations, one event"
furrow train -q --model gbdt --trees 5 --train day1.csv --user user --item item --label click --schema auto --out trees.one >/dev/null
furrow train -q --model gbdt --trees 5 --load trees.one --train day2.csv --out trees.two >/dev/null && furrow model info trees.two | grep -c tree
furrow recommend --model lr.two --users u399 -k 2 -q | wc -l
furrow predict --model lr.two --event user=u399 --event item=i59 | cut -d, -f 1
