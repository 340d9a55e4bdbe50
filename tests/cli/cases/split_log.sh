furrow rows split events.csv --user userId --time timestamp --last 1 --out by_user/
head -n 20 by_user/*
furrow rows split events.csv --time timestamp --last 0.3 --out last --names old,new --json
cat last.new.csv
gzip -c events.csv >events.csv.gz
furrow rows split events.csv.gz --group userId --fractions 0.5,0.5 --seed 3 --out by_group/
wc -l by_group/*
# refused
(echo user,item,label; for i in $(seq 12); do echo "$((16777210 + i)),00$((100 + i)),$((i % 2))"; done) >ids.csv
furrow rows split ids.csv --fractions 0.5,0.5 --seed 1 --out ids/
cat ids/train.csv ids/test.csv
try furrow rows split events.csv --user userId --time timestamp --last 1 --out by_user/
try furrow rows split events.csv --user userid --time timestamp --last 1 --out new/
try furrow rows split events.csv --user userId --last 1 --out new/
try furrow rows split events.csv --time timestamp --out new/
try furrow rows split events.csv --time timestamp --last 0 --out new/
try furrow rows split events.csv --time timestamp --last 1.5 --out new/
try furrow rows split events.csv --time timestamp --last 1 --fractions 0.5,0.5 --out new/
try furrow rows split events.csv --time timestamp --last 1 --to libsvm --out new/
try furrow rows split events.csv --time timestamp --group userId --out new/
try furrow rows split events.csv --group userId --out new/
try furrow rows split events.csv --group userId --last 1 --out new/
try furrow rows split events.csv --time note --last 1 --out new/
try furrow rows split - --time timestamp --last 1 --out new/ <events.csv
try furrow rows split events.csv --out new/
test ! -e new
