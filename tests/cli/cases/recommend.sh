# a log with names, a model of it, items for its users; last digits of scores are left out
awk 'BEGIN {
  print "user,item,hour,rating"
  for (u = 0; u < 30; u++) for (j = 0; j < 12; j++) { i = (u * 7 + j * 13) % 50; print "user " u ",item_" i "," (u + j) % 24 "," (i % 5 == u % 5 ? 5 : 1) }
}' >log.csv
awk 'BEGIN { print "item,title,kind"; for (i = 0; i < 50; i++) printf "item_%d,\"Title, %d\",%s\n", i, i, i % 2 ? "odd" : "even" }' >items.csv
cat >schema.json <<END
{"columns": {"user": {"as": "category", "role": "user"}, "item": {"as": "category", "role": "item"},
 "hour": {"as": "ignore"}, "rating": {"as": "label"}}}
END
furrow train -q --model fm --loss L2Loss --rank 4 --epochs 20 --train log.csv --schema schema.json --out fm
# four columns; the score is what predict says of the same row
furrow recommend --model fm --users "user 3" -k 3 >three
awk -F '\t' 'NF == 4 && $1 == "user 3" && $2 == NR && $3 ~ /^item_[0-9]+$/ { n++ } END { print n }' three
awk -F '\t' 'BEGIN { print "user,item,hour,rating" } { print $1 "," $3 ",1,5" }' three >rows.csv
furrow predict -q --model fm --data rows.csv | cut -d, -f2 >pred
cut -f4 three | cmp - pred && echo same scores
# info shows how to ask
furrow info fm | grep -o "furrow recommend.*"
# all users by default; any number of threads; a file of users
furrow recommend --model fm -k 5 --threads 1 >one
furrow recommend --model fm --users all -k 5 --threads 3 --out many.txt
cmp one many.txt && wc -l <one
printf 'user 3\r\n\nuser 4\n' >users.txt
furrow recommend --model fm --users users.txt -k 1 | cut -f1
furrow recommend --model fm --users - -k 1 <users.txt | cut -f1
# items left out: seen ones, kinds, lists
furrow recommend --model fm -k 50 --exclude log.csv | awk -F '\t' 'NR == FNR { split($0, c, ","); seen[c[1], c[2]] = 1; next } (($1, $3) in seen) { bad++ } END { print FNR, bad + 0 }' FS=, log.csv FS='\t' -
furrow recommend --model fm --users "user 1" -k 50 --items items.csv --where kind=even --name title | awk -F '\t' '{ n++; split($3, p, "_"); if (p[2] % 2 || $5 != "Title, " p[2]) bad++ } END { print n, bad + 0 }'
printf 'item_4\nitem_9\nno such item\n' >list.txt
furrow recommend --model fm --users "user 1" --only list.txt | cut -f3 | sort
furrow recommend --model fm --users "user 1" --without list.txt -k 50 -q | grep -c -e 'item_4	' -e 'item_9	'
# other outputs
furrow recommend --model fm --users "user 1" -k 1 --csv --items items.csv --name title | sed '2s/item_[0-9]*,[0-9.]*,"Title, [0-9]*"/ITEM,SCORE,"TITLE, NUMBER"/'
furrow recommend --model fm --users "user 1,user 2" -k 2 --json --items items.csv --name title >json
wc -l <json
head -1 json | is_json
head -1 json | grep -o '"[a-z]*":' | tr '\n' ' ' && echo
furrow recommend --model fm --like item_7 -k 2 | awk -F '\t' '{ print $1, $2, NF, ($4 <= 1) }'
furrow recommend --model fm --like item_7 -k 1 --json | cut -c1-40
# new users by their events, which are left out
grep -e ^user -e '^user 3,' log.csv | sed '2,$s/^user 3/stranger/' | grep -e ^user,item -e ^stranger >new.csv
furrow recommend --model fm --events new.csv -k 50 >new
awk -F '\t' '$1 != "stranger" { bad++ } END { print NR, bad + 0 }' new
cut -f3 new | sort >found && sed 1d new.csv | cut -d, -f2 | sort | comm -12 - found | wc -l
try furrow recommend --model fm --events new.csv --users all
echo 'user,item,rating
x,nothing,1' >none.csv
try furrow recommend --model fm --events none.csv
# an index that is asked for is not made for fifty items; without a dictionary, names, or sense
furrow recommend --model fm --users "user 1" -k 1 --recall 0.9 | wc -l
try furrow recommend --model fm --users "user 1,usr 2"
furrow recommend --model fm --users "user 1,usr 2" --on-unknown skip -k 1 | wc -l
try furrow recommend --model fm --users nobody --on-unknown skip
try furrow recommend --model fm --like itm_7
try furrow recommend --model fm --where kind=even
try furrow recommend --model fm --items items.csv --where kind=none
try furrow recommend --model fm --items items.csv --name author
try furrow recommend --model fm --exclude items.csv
try furrow recommend --model fm --context hour=5
try furrow recommend --model fm --exact --recall 0.9
try furrow recommend --model fm --recall 2
try furrow recommend --model fm -k 0
try furrow recommend --model fm --out many.txt
try furrow recommend --model fm --like item_7 --users all
furrow rows encode -q log.csv --dictionary fm --out log.ffm >/dev/null
furrow train -q --model fm --loss L2Loss --epochs 1 --format libffm --train log.ffm --out plain
try furrow recommend --model plain
try furrow eval --model plain --data log.csv --rank
