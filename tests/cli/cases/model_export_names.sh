# model export --vectors of a model of a raw log: items and users with their tables, in the order of the dictionary, by name
awk 'BEGIN { r = 1; print "who,what,hour,click"; for (i = 0; i < 4000; i++) { r = r * 16807 % 2147483647; u = int(r / 65536) % 12; t = int(r / 1000) % 20; h = int(r / 77) % 3
  printf "user %d,thing-%d,%s,%d\n", u, t, substr("amnoonpm", 1 + 2 * h, 2), u % 3 == t % 3 } }' >log.csv
awk 'BEGIN { print "what,kind"; for (t = 0; t < 20; t++) printf "thing-%d,k%d\n", t, t % 3 }' >things.csv
furrow train --model fm --rank 3 --train log.csv --schema auto --user who --item what --label click --table things.csv=what --out m -q
try furrow model export m items.fvecs --vectors item
try furrow model export m users.fvecs --vectors query --ids people.txt
sort items.fvecs.names.txt | head -n 3
sort people.txt | head -n 3
wc -l <items.fvecs.names.txt | tr -d ' '

echo "ranked as recommend ranks"
furrow index build --base items.fvecs --ids items.fvecs.names.txt --out items.index --metric ip --nlist 1 --m 0 -q >/dev/null
furrow index search items.index users.fvecs -k 4 --nprobe 1 | awk '{ gsub(/:[^\t]*/, ""); print }' | paste people.txt - | cut -f 1,3- >found
furrow recommend --model m -k 4 -q | awk -F '\t' '{ printf "%s%s", ($2 == 1 ? (NR > 1 ? "\n" : "") $1 "\t" : "\t"), $3 } END { print "" }' >recommended
diff found recommended && wc -l <found | tr -d ' '

echo "features and rows as before"
furrow model export m some.fvecs --vectors item --cols 2:6 && ls some.*
head -n 3 log.csv >three.csv
furrow model export m rows.fvecs --vectors query --data three.csv --no-ids

echo "refused"
try furrow model export m items.fvecs --vectors item
rm items.fvecs
try furrow model export m items.fvecs --vectors item
ls items.fvecs 2>/dev/null
try furrow model export m items.fvecs --vectors item --force --no-ids
printf 'who,what,click\n1,"a\nb",1\n2,c,0\n1,c,1\n2,"a\nb",0\n' >odd.csv
for i in 1 2 3 4 5; do tail -n +2 odd.csv; done >more && cat more >>odd.csv
furrow train --model fm --rank 3 --epochs 1 --train odd.csv --schema auto --user who --item what --label click --out odd -q 2>/dev/null
try furrow model export odd odd.fvecs --vectors item
ls odd.fvecs* 2>/dev/null
try furrow model export odd odd.fvecs --vectors item --no-ids
furrow train --model fm --rank 3 --epochs 1 --train log.csv --schema auto --label click --item what --out nobody -q
try furrow model export nobody users2.fvecs --vectors query
