# A recommender of a log: what is chosen, for known and for new users, with reasons, and how it is judged.
awk 'BEGIN { r = 7; print "user,item,time"
  for (u = 0; u < 120; u++) for (e = 0; e < 12; e++) {
    r = r * 16807 % 2147483647; i = (r % 10 < 8) ? (u % 4) + 4 * (int(r / 10) % 15) : int(r / 10) % 60
    print "u" u ",i" i "," 1600000000 + 1000 * e + u } }' > log.csv
furrow train --model recommender --train log.csv --user user --item item --time time --out shop.model --json | tr ',' '\n' | grep -E '"(model|chosen|users|items|k)"' | head -5
furrow recommend --model shop.model --users u1,u2 -k 3 | cut -f 1-2
furrow recommend --model shop.model --users u1 -k 2 --csv --explain 1 | head -1
echo '- new users'
printf 'user,item,time\nx,i1,1\nx,i5,2\ny,i2,1\ny,i6,2\n' > new.csv
furrow recommend --model shop.model --events new.csv -k 4 --explain 1 | awk '{ n[$1 " " (substr($3, 2) % 4)]++ } END { for (k in n) if (n[k] >= 3) print k }' | sort
echo '- what does not apply'
try furrow train --model recommender --train log.csv --out other.model --epochs 3
try furrow train --model recommender --train log.csv --out other.model --valid log.csv
try furrow recommend --model shop.model --like i1 --explain 2
try furrow recommend --model shop.model --users nobody
echo '- an fm of ratings says that it should not recommend'
awk 'BEGIN { r = 3; print "user,item,rating"
  for (u = 0; u < 60; u++) for (e = 0; e < 15; e++) {
    r = r * 16807 % 2147483647; i = int((r % 1000) * (r % 1000) / 20000); r = r * 16807 % 2147483647
    print "u" u ",i" i "," (i > 30 ? 5 : 1 + r % 4) } }' > ratings.csv
furrow train --model fm --train ratings.csv --schema auto --out fm.model --quiet
furrow recommend --model fm.model --users u1 -k 1 2>&1 >/dev/null | sed 's/[0-9]\.[0-9]*/N/g'
echo '- an fm that has learned its events by heart: what it orders best are the events that it knows'
awk 'BEGIN { r = 11; print "user,item,time"
  for (u = 0; u < 100; u++) for (e = 0; e < 10; e++) {
    r = r * 16807 % 2147483647; i = e * 6 + int((r % 1000) * (r % 1000) / 170000)
    print "u" u ",i" i "," 1600000000 + 1000 * ((e * 7 + u) % 10) + u } }' > plain.csv
furrow train --model fm --loss sampled-softmax --epochs 30 --valid-ratio 0 --l2 0 --train plain.csv --schema auto --out heart.model 2>&1 | grep -c 'do not recommend'
furrow eval --model heart.model --data plain.csv --rank --json -q | awk -F: '/"gain_over_popular_ndcg"/ { print ($2 + 0 > 0.3) }'
awk '/"ranking"/ { on = 1 } on && /"gain"/ { gain = $3 + 0 } on && /"gain_error"/ { print (gain < -2 * $3) }' heart.model/furrow.json
furrow recommend --model heart.model --users u1 -k 1 2>&1 >/dev/null | grep -c 'worse than their popularity'
ls -A | grep -c trial
echo '- with histories, the figure is that of a model that does not know the later events'
awk 'function draw(n) { r = r * 16807 % 2147483647; return r % n }
  BEGIN { r = 5; print "user,item,time"
  for (u = 0; u < 300; u++) { i = draw(60); for (e = 0; e < 10; e++) {
    i = draw(10) < 8 ? (i + 1) % 60 : draw(60); print "u" u ",i" i "," 1600000000 + 1000 * e + u } } }' > chain.csv
furrow rows split chain.csv --out parts/ --time time --user user --last 0.2 > /dev/null
for log in chain.csv parts/train.csv; do
  furrow train --model fm --loss sampled-softmax --user-history 1 --epochs 20 --valid-ratio 0 --schema auto --train $log --out chain.model --force -q > /dev/null
  [ $log = chain.csv ] && stored=$(sed -n '/"ranking"/,$ s/.*"ndcg" : \([0-9.]*\).*/\1/p' chain.model/furrow.json)
done
furrow eval --model chain.model --data parts/test.csv --exclude parts/train.csv --rank -q | awk -v stored="$stored" '$1 == "ndcg" { d = $2 - stored; print ($2 > 0.6 && d < 0.05 && d > -0.05) }'
echo '- models that order items: new users with opposite tastes get different items, whatever is popular'
awk 'function draw(n) { r = r * 16807 % 2147483647; return r % n }
  BEGIN { r = 5; print "user,item"
  for (u = 0; u < 300; u++) for (e = 0; e < 12; e++) print "u" u "," (e % 2 ? "all" draw(30) : (u % 2 ? "odd" : "even") draw(20)) }' > sides.csv
printf 'user,item\nx,even1\nx,even2\nx,even3\nx,even4\ny,odd1\ny,odd2\ny,odd3\ny,odd4\n' > opposite.csv
for loss in sampled-softmax bpr warp; do
  furrow train --model fm --loss $loss --schema auto --train sides.csv --out sides.model --force -q > /dev/null
  furrow recommend --model sides.model --events opposite.csv -k 8 | awk '{ n[$1 " " substr($3, 1, 2)]++ } END { for (k in n) if (n[k] >= 6) print k }' | sort
done
echo '- a user who took every item'
printf 'user,item\na,x\na,y\na,z\nb,x\nb,y\nc,z\n' > few.csv
furrow train --model recommender --train few.csv --out few.model -q > /dev/null
furrow recommend --model few.model --users a,b
furrow recommend --model few.model --users a -k 1 --include-seen
echo '- a table of users'
awk 'BEGIN { r = 5; print "user,item,time"
  for (u = 0; u < 200; u++) for (e = 0; e < 3 + u % 7; e++) {
    r = r * 16807 % 2147483647; i = (r % 10 < 8) ? (u % 3) + 3 * (int(r / 10) % 20) : int(r / 10) % 60
    print "u" u ",i" i "," 1600000000 + 1000 * e + u } }' > visits.csv
awk 'BEGIN { print "user,country"; for (u = 9; u < 210; u++) print "u" u "," substr("DEFRJP", 1 + 2 * (u % 3), 2) }' > users.csv
furrow train --model recommender --train visits.csv --table users.csv=user --out users.model 2>&1 | grep -E 'warning|features'
furrow recommend --model users.model --users u201,u202,u203 -k 6 | awk '{ n[$1 " " (substr($3, 2) % 3)]++ } END { for (k in n) if (n[k] >= 5) print k }' | sort
furrow recommend --model users.model --users u201 -k 1 --json --explain 2 | cut -d , -f 4
sed 's/^u/v/' users.csv | sed '1s/.*/user,country/' > others.csv
try furrow train --model recommender --train visits.csv --table others.csv=user --out others.model
echo '- a table of items that has few of them, or none'
printf 'item,title\ni1,One\ni2,Two\nx,Three\n' > titles.csv
furrow recommend --model shop.model --users u1 -k 1 --items titles.csv --name title --where title=One 2>&1 >/dev/null
furrow recommend --model shop.model --users u1 -k 1 --items titles.csv --where title=Three 2>&1 | grep -v hint
sed 's/^i/I/; 1s/I/i/' titles.csv > strange.csv
try furrow recommend --model shop.model --users u1 -k 1 --items strange.csv --name title
try furrow recommend --model shop.model --users u1 -k 1 --items strange.csv --where title=One
try furrow train --model recommender --train log.csv --table strange.csv=item --out strange.model
furrow train --model recommender --train log.csv --table titles.csv=item --out titles.model 2>&1 >/dev/null | grep 'table of items'
echo '- rows twice, and rows without a user'
(cat visits.csv; tail -n +2 visits.csv) > twice.csv
furrow train --model recommender --train twice.csv --out twice.model 2>&1 >/dev/null | grep warning
awk -F, 'BEGIN { OFS = "," } NR > 1 && NR % 4 == 0 { $1 = "" } { print }' visits.csv > holes.csv
furrow train --model recommender --train holes.csv --out holes.model 2>&1 >/dev/null | grep warning
echo '- logs that lack something'
printf 'user,item,time\na,x,1\na,y,2\na,z,3\n' > one.csv
try furrow train --model recommender --train one.csv --out lacking.model --force > said
printf 'user,item\na,x\nb,x\nc,x\n' > one.csv
try furrow train --model recommender --train one.csv --out lacking.model --force > said
awk 'BEGIN { print "user,item,time,liked"; for (i = 0; i < 60; i++) print "u" i % 20 ",i" i % 7 "," 1600000000 + 1000 * i ",0" }' > one.csv
try furrow train --model recommender --train one.csv --label liked --out lacking.model --force > said
