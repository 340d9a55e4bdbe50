# settings are tried, the best are written and train the same model; what it refuses; a signal
awk 'BEGIN { r = 5; for (i = 0; i < 900; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; r = r * 16807 % 2147483647; print (a % 3 && r % 10 ? 0 : 1), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
lines() { # without figures and seconds
  sed -E 's/^( *[^ ]+ +[^ ]+) .* +[0-9]+\.[0-9]{2}  /\1 /; s/^(loss|auc) .*/\1/; s/seconds/s/; s/^( run +rows) .*/\1 …/'
}
furrow tune --model lr --train t.libsvm --runs 4 --seed 3 | lines
furrow tune --model lr --train t.libsvm --folds 3 --metric auc | lines | grep -c l2=
furrow tune --model gbdt --trees 20 --train t.libsvm --runs 5 --conf-out best.json --out m -q
grep -c trees best.json
furrow train -q --conf best.json --train t.libsvm --out again && diff -r m again && echo the same
furrow train -q --conf best.json --trees 3 --train t.libsvm --out less && furrow model trees less --json | grep -c '"tree"'
furrow tune --model fm --epochs 2 --train t.libsvm --valid t.libsvm --runs 4 --threads 1 --json | grep -v seconds >one
furrow tune --model fm --epochs 2 --train t.libsvm --valid t.libsvm --runs 4 --threads 3 --json | grep -v seconds | cmp - one && grep -c '"trained_rows": 720' one
# a training that diverges does not win, and does not end the search
awk 'BEGIN { r = 5; for (i = 0; i < 400; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 200; b = int(r / 64) % 200; print a * 3 - b, "1:" a, "2:" b } }' >num.libsvm
furrow tune --model fm --defaults angel --loss l2loss --optimizer sgd --lr 0.0000001 --train num.libsvm --runs 5 --seed 5 | lines | grep -v '^loss'
# more rows: first a part of them
for i in 1 2 3 4 5 6 7 8 9 10; do cat t.libsvm; done >large.libsvm
furrow tune --model gbdt --trees 5 --train large.libsvm --runs 7 | lines | awk '$1 + 0 > 0 { print $2 }' | sort -n | uniq -c
furrow tune --model gbdt --trees 5 --train large.libsvm --runs 7 --time 0.000001 | lines | awk 'NF > 1'
no() { try furrow tune "$@"; }
no --train t.libsvm
no --model lrr --train t.libsvm
no --model lr --train missing
no --model lr --train t.libsvm --runs 0
no --model lr --train t.libsvm --folds 1
no --model lr --train t.libsvm --folds 3 --valid t.libsvm
no --model lr --train t.libsvm --time -1
no --model lr --train t.libsvm --l2 3
no --model lr --train t.libsvm -D ml.reg.l2=3
no --model lr --train t.libsvm --metric rmse
no --model lr --train t.libsvm --conf-out best.json
no --model lr --train t.libsvm --out m
no --model lr --train - <t.libsvm
no --model lr --train t.libsvm --valid /dev/null
no --model lr --train t.libsvm --conf-out missing/best.json
head -n 4 t.libsvm >few.libsvm
no --model linear --train few.libsvm
no --model linear --train few.libsvm --folds 5
printf '{"furrow":{"algorithm":"lr","l22":"3"}}' >bad.json
try furrow train --conf bad.json --train t.libsvm --out b
# what is known when a signal comes is written
set -m # else signals are ignored in the background
: >table
furrow tune --model gbdt --trees 3000 --train t.libsvm --runs 1000 --conf-out so_far.json --out never >table 2>err &
for ((i = 0; i < 15000; i++)); do [ "$(wc -l <table)" -ge 3 ] && break; sleep 0.02; done
kill -INT $!
{ wait $!; } 2>/dev/null
echo "INT: exit $?"
cat err
grep -c '^best settings' table
furrow train -q --conf so_far.json --trees 2 --train t.libsvm --out usable && ls -d usable never 2>/dev/null
true
