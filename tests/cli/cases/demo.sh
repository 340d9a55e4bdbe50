# furrow demo at a tiny size: what it leaves, what it says, and that the same bytes come from other threads
tiny="--rows 12000 --users 150 --items 250"
furrow demo $tiny --out one --threads 1 >said
furrow demo $tiny --out two --threads 2 -q
furrow demo $tiny --out three --threads 2 --json >report.json
is_json <report.json

echo "files"
(cd one && ls -A)
cksum one/clicks.libsvm one/queries.libsvm one/items.tsv one/users.tsv
head -n 3 one/items.tsv one/users.tsv
for name in clicks.libsvm train.libsvm valid.libsvm test.libsvm fm.model deepfm.model items.fbin queries.fbin items.index \
  refined.index items.ids.ibin items.near.fbin items.map.json; do
  diff -rq one/$name two/$name && diff -rq two/$name three/$name || echo "$name differs"
done

echo "numbers"
number() { sed -n "s/^ *\"$1\": \([-0-9.e]*\),*$/\1/p" report.json; }
# a model beats the truth by luck alone, and an index whose last word the vectors have finds nearly what the model likes
{ number optimal_logloss && number logloss && number optimal_auc && number auc && number overlap_at_10 && number largest_gap_of_parts; } |
  awk '{ v[NR] = $1 } END {
    print (v[1] > 0.3 && v[1] < v[2] + 0.01 && v[1] < v[3] + 0.01) ? "the truth has the least loss" : "loss " v[1] " " v[2] " " v[3]
    print (v[4] > v[5] - 0.01 && v[4] > v[6] - 0.01 && v[5] > 0.5) ? "and the largest AUC" : "AUC " v[4] " " v[5] " " v[6]
    print (v[7] > 0.3 && v[8] > 0.8 && v[8] >= v[7]) ? "the index finds what the model likes" : "overlap " v[7] " " v[8]
    print v[9] < 1e-4 ? "scores are the sums of their parts" : "gap " v[9]
  }'

echo "commands"
sed -n 's/^\$ \(furrow .*\)/\1/p' said >commands
wc -l <commands | tr -d ' '
cp -r one again
(cd again && bash -e ../commands >/dev/null) && for name in fm.model deepfm.model items.index refined.ids.ibin fm.eval.json; do
  diff -rq one/$name again/$name
done
sed -n '/^# /p; s/took [0-9.]* seconds/took N seconds/p' said

echo "page"
grep -c '<svg' one/report.html | awk '{ print ($1 > 15) }'
grep -c -e 'http:' -e 'https:' -e 'src=' -e '<script' -e '@import' -e 'url(' one/report.html
tail -n 1 one/report.html
