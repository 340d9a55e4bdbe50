# labels with names: predict and eval print them
cat >schema.json <<END
{"columns": {"user": {"as": "category", "role": "user"}, "item": {"as": "category", "role": "item"}, "what": {"as": "label", "classes": ["no", "yes, \"really\""]}}}
END
awk 'BEGIN { print "user,item,what"; for (i = 0; i < 120; i++) print "u" i % 6 ",i" i % 5 "," (i % 5 < 2 ? "no" : "\"yes, \"\"really\"\"\"") }' >log.csv
furrow train -q --model lr --train log.csv --schema schema.json --threads 1 --out two >report
head -4 log.csv >few.csv
furrow predict -q --model two --data few.csv | awk -F, '{ $2 = $3 = "x"; print }'
furrow predict -q --model two --data few.csv --sid first | cut -d, -f1
furrow predict -q --model two --data few.csv --probabilities | sed 's/[0-9]\.[0-9e-]*/P/g'
furrow predict -q --model two --data few.csv --probabilities --header | head -2 | sed 's/[0-9]\.[0-9e-]*/P/g'
try furrow predict -q --model two --data few.csv --header --json
furrow predict -q --model two --data few.csv --probabilities --json >json
head -1 json | is_json
sed 's/[0-9]\.[0-9e-]*/P/g' json
furrow eval -q --model two --data log.csv | grep -E '^ *(no|yes|label)'
furrow eval -q --model two --data log.csv --json >json
is_json <json
grep '"label"' json
# predict does without labels, and so takes any; eval does not, nor does an id that is the label
printf 'user,item,what\nu1,i1,no\nu1,i1,\nu1,i1,NA\nu1,i1,?\nu1,i1,perhaps\n' >odd.csv
furrow predict --model two --data odd.csv | cut -d, -f1,4
printf '{"user":"u1","item":"i1"}\n{"user":"u2","item":"i2","what":"perhaps"}\n' >odd.json
furrow predict --model two --data odd.json | cut -d, -f1,4
furrow predict --model two --event user=u1 --event item=i1 --event what=perhaps | cut -d, -f1,4
try furrow eval --model two --data odd.csv
try furrow predict --model two --data odd.csv --sid first
# several classes; names that are longer than a heading may be
sed 's/"no", .*"\]/"a|b", "c", "a name that has more than the sixty-three bytes that a heading may have in a table"]/' schema.json >three.json
awk 'BEGIN { split("a|b/c/a name that has more than the sixty-three bytes that a heading may have in a table", n, "/"); print "user,item,what"; for (i = 0; i < 120; i++) print "u" i % 6 ",i" i % 5 "," n[1 + i % 5 % 3] }' >log.csv
furrow train -q --model softmax --train log.csv --schema three.json --threads 1 --out three >report
head -4 log.csv >few.csv
furrow predict -q --model three --data few.csv | cut -d, -f1,4
furrow predict -q --model three --data few.csv --contributions --top 1 | cut -d, -f1,2
furrow predict -q --model three --data few.csv --contributions --top 1 --json >json
head -1 json | is_json
grep -o '"class":"[^"]*"' json | sort | uniq -c
furrow eval -q --model three --data log.csv | grep -A3 '^label .* prediction'
