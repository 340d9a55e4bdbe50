# furrow demo at a tiny size: what it leaves, what it says, and that the same bytes come from other threads
tiny="--rows 20000 --users 150 --items 150"
furrow demo $tiny --out one --threads 1 >said
furrow demo $tiny --out two --threads 2 -q
furrow demo $tiny --out three --threads 2 --json >report.json
is_json <report.json

echo "files"
(cd one && ls -A)
cksum one/log.csv one/items.csv
head -n 3 one/log.csv one/items.csv
for name in log.csv items.csv schema.json train.csv test.csv shop.model fm.model deepfm.model shop.rank.json fm.rank.json recommended.csv items.fbin users.fbin \
  items.fbin.names.txt users.fbin.names.txt items.index items.index.names refined.index items.map.json nearest.txt; do
  diff -rq one/$name two/$name && diff -rq two/$name three/$name || echo "$name differs"
done
cut -d , -f 2 one/items.csv | sort | uniq -d

echo "numbers"
number() { sed -n "s/^ *\"$1\": \([-0-9.e]*\),*$/\1/p" report.json; }
# a model beats the truth by luck alone; an index whose last word the vectors have finds nearly what the model likes
{ number optimal_logloss && number logloss && number optimal_auc && number auc && number recall_at_10 && number ndcg_of_most_popular && number ndcg; } |
  awk '{ v[NR] = $1 } END {
    print NR
    print (v[1] > 0.3 && v[1] < v[2] + 0.01 && v[1] < v[3] + 0.01) ? "the truth has the least loss" : "loss " v[1] " " v[2] " " v[3]
    print (v[4] > v[5] - 0.01 && v[4] > v[6] - 0.01 && v[5] > 0.6) ? "and the largest AUC" : "AUC " v[4] " " v[5] " " v[6]
    print (v[7] > 0.3 && v[8] > 0.8 && v[8] >= v[7]) ? "the index finds what the model likes" : "recall " v[7] " " v[8]
    print (v[9] > 0 && v[10] > 1.2 * v[9]) ? "recommendations beat the most popular items" : "NDCG " v[9] " " v[10]
  }'
# the report and the command say the same
for name in shop fm deepfm; do sed -n 's/^ *"ndcg": \([-0-9.e]*\),$/\1/p' one/$name.rank.json | head -n 1; done >by_eval
number ndcg | diff - by_eval && echo "as eval --rank"

echo "most popular"
# counted here once more: NDCG@10 of the items with the most clicks that a user was not shown
awk -F , 'FNR == 1 { file++; next }
  file == 1 { seen[$2, $3]; if ($5 == 1) clicks[$3]++; next }
  $5 == 1 && !(($2, $3) in seen) && !(($2, $3) in relevant) { relevant[$2, $3]; count[$2]++ }
  END {
    for (n = 0; n < 150; n++) { name = sprintf("B%04d", n); order[n] = name }
    for (i = 1; i < 150; i++)
      for (j = i; j > 0 && clicks[order[j]] > clicks[order[j - 1]]; j--) { t = order[j]; order[j] = order[j - 1]; order[j - 1] = t }
    for (user in count) {
      gain = most = 0
      for (i = rank = 0; i < 150 && rank < 10; i++) {
        if ((user, order[i]) in seen) continue
        rank++
        if ((user, order[i]) in relevant) gain += log(2) / log(rank + 1)
      }
      for (i = 1; i <= 10 && i <= count[user]; i++) most += log(2) / log(i + 1)
      sum += gain / most; users++
    }
    printf "%d %.6f\n", users, sum / users
  }' one/train.csv one/test.csv >counted
sed -n 's/^ *"users": \([0-9]*\),$/\1/p' report.json | tail -n 1 | tr '\n' ' ' >reported
number ndcg_of_most_popular | awk '{ printf "%.6f\n", $1 }' >>reported
diff counted reported && echo "the same"

echo "commands"
sed -n 's/^\$ \(furrow .*\)/\1/p' said >commands
wc -l <commands | tr -d ' '
cp -r one again
(cd again && bash -e ../commands >/dev/null) && for name in schema.json shop.model fm.model deepfm.model recommended.csv items.index nearest.txt fm.eval.json; do
  diff -rq one/$name again/$name
done
sed -n '/^# /p; s/took [0-9.]* seconds/took N seconds/p' said
awk -F '\t' 'NF == 6 { print $2, ($3 ~ /^B[0-9]*$/), ($5 ~ /^[A-Z][a-z]+ [A-Z]/), ($6 ~ /^[A-Z]/) }' said | sort | uniq -c | awk '{ print $1, $2, $3, $4, $5 }'

echo "page"
grep -c '<svg' one/report.html | awk '{ print ($1 > 15) }'
grep -c -w -i -e nan -e inf one/report.html
grep -c -e 'http:' -e 'https:' -e 'src=' -e '<script' -e '@import' -e 'url(' one/report.html
# titles of what two users get are in the page
awk -F '  +' '/ true probability / { print $2 }' said | while read -r title; do grep -q ">$title<" one/report.html && echo "in the page"; done | uniq -c | awk '{ print $1, $2 }'
tail -n 1 one/report.html
