# A model learns from a log that grows: versions, a journal, kills, parts, a pipe, rollback and replay.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
  BEGIN {
    r = 5; print "user,item,click" >"day1.csv"
    for (u = 0; u < 90; u++) user[u] = 4 * draw() - 2
    for (i = 0; i < 30; i++) item[i] = 4 * draw() - 2
    for (k = 0; k < 2400; k++) {
      u = int(draw() * (k < 1500 ? 60 : 90)); i = int(draw() * (k < 1500 ? 25 : 30)); y = (draw() < 1 / (1 + exp(-user[u] - item[i])))
      if (k < 1500) print "u" u ",i" i "," y >"day1.csv"
      else printf "{\"user\":\"u%d\",\"item\":\"i%d\",\"click\":%d}\n", u, i, y >"events.jsonl"
    }
  }'
for model in lr fm; do
  mkdir $model && furrow train -q --model $model --seed 1 --train day1.csv --user user --item item --label click --schema auto --out $model/1 >/dev/null
done
cp -r lr base
learn() { furrow learn -q --follow events.jsonl --every 200 --once --model "$@"; }
echo "versions"
learn lr | awk 'NR == 1 { print } NR > 1 { print $1, $2, ($3 > .5 ? "learned" : $3) }'
cut -d, -f 1-5 lr/journal.jsonl
learn lr && ls lr
echo "nothing is lost, nothing learned twice"
same() { for v in 2 3 4 5 6; do [ -e "$1/$v" ] || [ $v -lt 6 ] || echo "version $v is missing"; [ ! -e "$1/$v" ] || diff -r "lr/$v" "$1/$v" >/dev/null || echo "version $v differs"; done; cmp lr/journal.jsonl "$1/journal.jsonl" && echo "the same"; }
cp -r lr ahead && rm -r ahead/6 && learn ahead >/dev/null && same ahead
cp -r lr torn && rm -r torn/6 && head -c -9 lr/journal.jsonl >torn/journal.jsonl && learn torn >/dev/null && same torn
cp -r lr sector && rm -r sector/6 && (head -4 lr/journal.jsonl && head -c 40 /dev/zero && tail -1 lr/journal.jsonl | tail -c +41) >sector/journal.jsonl && learn sector >/dev/null && same sector
cp -r base killed
for i in 02 03 04 05 06 07 08 09 10 12 14 16 18 20 25 30; do
  timeout -s KILL 0.$i furrow learn -q --follow events.jsonl --every 200 --once --model killed && break
done >/dev/null 2>&1
learn killed >/dev/null; same killed
echo "a growing file: what is there, then the rest"
cp -r base grown && head -c 9000 events.jsonl >part && furrow learn -q --model grown --follow part --every 200 --once | wc -l
cat events.jsonl >part && furrow learn -q --model grown --follow part --every 200 --once | wc -l
head -c 500 events.jsonl >part && try furrow learn -q --model grown --follow part --once
echo "a log that is cut, replaced, or another one"
until_there() { for i in $(seq 300); do [ -e "$1" ] && return; sleep .1; done; }
for how in cut replaced; do
  cp -r base $how && head -300 events.jsonl >$how.jsonl && { furrow learn -q --model $how --follow $how.jsonl --every 200 >/dev/null & } && until_there $how/2
  if [ $how = cut ]; then : >cut.jsonl; else cp events.jsonl new && mv new replaced.jsonl; fi
  wait $!; echo "exit $?"
done
try furrow learn -q --model replaced --follow replaced.jsonl --every 200 --once | cut -c 1-20
sed '850s/click":[01]/click":7/' events.jsonl >replaced.jsonl && try furrow learn -q --model replaced --follow replaced.jsonl --once
cp -r base days && head -400 events.jsonl >monday.jsonl && tail -500 events.jsonl >tuesday.jsonl
for day in monday tuesday monday; do furrow learn --model days --follow $day.jsonl --every 500 --once | cut -c 1-20; done && cut -d, -f 1-5 days/journal.jsonl
cp -r lr holes && rm -r holes/4 && furrow learn -q --model holes --follow monday.jsonl --every 400 --once --keep 2 >/dev/null && ls holes
cp -r base slow && (head -50 events.jsonl; until_there slow/2; tail -20 events.jsonl) | furrow learn -q --model slow --follow - --seconds 1 | cut -c 1-20
echo "events that cannot be learned alone"
cp -r base unfit && grep 'click":1' events.jsonl | head -30 >unfit.jsonl && yes 'no event' | head -20 >>unfit.jsonl
try furrow learn --model unfit --follow unfit.jsonl --every 20 --once && ls unfit && wc -c <unfit/journal.jsonl
head -150 events.jsonl >>unfit.jsonl && furrow learn --model unfit --follow unfit.jsonl --every 20 --once | awk '{ print $1, $2 }'
echo "parts, a table, a pipe"
mkdir parts && head -450 events.jsonl >parts/a.jsonl && (echo user,item,click && tail -450 events.jsonl | tr -d '{}"' | sed 's/[a-z]*://g') >parts/b.csv
cp -r base folder && furrow learn -q --model folder --follow parts --every 400 --once | awk '{ print $1, $2 }'
cp -r base piped && furrow learn --model piped --follow - --every 500 --json <events.jsonl | cut -d, -f 1-3
echo "an fm, new names, old versions"
learn fm --keep 2 | awk 'NR > 1 { print $1, ($3 > .5 ? "learned" : $3) }' && ls fm
furrow predict -q --model fm/6 --event user=u89 --event item=i29 2>&1 | grep -c note
echo "rollback, replay"
cp -r lr back && try furrow learn --model back --rollback 3 && diff -r back/3 back/7 && tail -1 back/journal.jsonl
try furrow learn -q --model back --replay again && diff -r back again | grep -v journal
echo "refused"
try furrow learn --model lr/1 --follow events.jsonl
try furrow learn --model lr
mkdir empty && try furrow learn --model empty --follow events.jsonl
try furrow learn --model lr --follow nowhere.jsonl --once
cp -r lr other && cp -r other/1 other/9 && try furrow learn --model other --follow events.jsonl --once
cp -r lr lost && head -c -9 lr/journal.jsonl >lost/journal.jsonl && cp lost/journal.jsonl lost.jsonl && try furrow learn --model lost --follow events.jsonl --once
cmp lost.jsonl lost/journal.jsonl && echo "the journal is as it was"
cp -r lr changed && rm -r changed/6 && sed '850s/click":[01]/click":7/' events.jsonl >e && sed 's/events.jsonl/e/' lr/journal.jsonl >changed/journal.jsonl && try furrow learn --model changed --follow e --once
for line in '{"version":3}' 'x' '{"version":2,"file":"e","from":9,"to":2,"events":1,"digest":"0000000000000000"}' '{"version":2,"file":"e","from":0,"to":2,"digest":"00"}' '{"version":2,"version":2}'; do
  rm -rf bad && cp -r base bad && echo "$line" >bad/journal.jsonl && try furrow learn --model bad --follow events.jsonl --once
done
