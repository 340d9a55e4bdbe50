# Parts that come too late, a replay that ends by itself, versions to return to, and errors that name the log.
awk 'BEGIN { r = 5; print "user,item,click" >"day1.csv"
  for (k = 0; k < 900; k++) { r = r * 16807 % 2147483647; u = r % 30; r = r * 16807 % 2147483647; i = r % 20; r = r * 16807 % 2147483647
    y = r % 40 < u; if (k < 500) print "u" u ",i" i "," y >"day1.csv"; else printf "{\"user\":\"u%d\",\"item\":\"i%d\",\"click\":%d}\n", u, i, y >"events.jsonl" } }'
mkdir shop parts && furrow train -q --model lr --train day1.csv --user user --item item --label click --schema auto --out shop/1 >/dev/null
head -100 events.jsonl >parts/b.jsonl && sed -n 101,200p events.jsonl >parts/c.jsonl && : >parts/a0.jsonl
learn() { furrow learn --model shop --follow parts --every 100 --once 2>&1 | cut -d ' ' -f 1-20 | grep -v '^version\|^ '; }
echo "no part is late" && learn
sed -n 201,300p events.jsonl >parts/a.jsonl && echo user,item,click >parts/a.csv && sed -n 301,400p events.jsonl >parts/d.jsonl
echo "one is" && learn
echo "while the log is followed"
furrow learn -q --model shop --follow parts 2>told >/dev/null & pid=$!
until_told() { for i in $(seq 300); do grep -q "$1" told && return; sleep .1; done; }
until_told a.jsonl && cp parts/a.jsonl parts/bb.jsonl && until_told bb.jsonl
kill -TERM $pid; wait $pid; echo "exit $?" && cut -d : -f 3- told | cut -d, -f 1
echo "a replay ends" && furrow learn -q --model shop --replay again | wc -l && diff -r shop again | grep -v journal
try furrow learn --model shop --replay more --follow parts
try furrow learn --model shop --rollback 7
echo "names that do not fit" && sed 's/"u\([0-9]\)/"new\1/' parts/d.jsonl >new.jsonl && furrow train --model lr --load shop/4 --train new.jsonl --max-features 50 --out none 2>&1 >/dev/null | grep -o 'names.*\|no new.*'
