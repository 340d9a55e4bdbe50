# every command that furrow info suggests works, whatever the file: tables with and without labels, logs, rows, vectors, models
draw() { awk -v n="$1" 'BEGIN { r = 7; for (i = 0; i < n; i++) { r = r * 16807 % 2147483647; a = int(r / 64) % 100; b = int(r / 8192) % 7; print i, a, b, int(r / 97) % 40, (a + int(r / 31) % 50 > 75) } }'; }
color='split("red green blue grey pink brown black", c, " ")'
draw 300 | awk "BEGIN { $color; print \"sold,age,color,price\" } { print \$5 \",\" \$2 \",\" c[\$3 + 1] \",\" \$2 / 7 }" >two_classes.csv
draw 300 | awk "BEGIN { $color; print \"age;size;color\" } { print \$2 \";\" \$4 \";\" c[\$3 + 1] }" >many_classes.csv
draw 300 | awk "BEGIN { $color; print \"color\\tage\\tamount\" } { print c[\$3 + 1] \"\\t\" \$2 \"\\t\" \$2 * 3.5 + \$3 }" >numbers.tsv
draw 300 | awk 'BEGIN { print "name,born,text" } { print "n" $1 ",19" 10 + $2 % 80 "-01-0" 1 + $3 ",word" $1 " and " $2 }' >no_label.csv
draw 300 | awk "BEGIN { $color; print \"label,target,color\" } { print \$5 \",\" \$2 \",\" c[\$3 + 1] }" >two_labels.csv
draw 300 | awk "BEGIN { $color; print \"color,same\" } { print c[\$3 + 1] \",\" 1 }" >constant.csv
draw 300 | awk "BEGIN { $color } { print \"{\\\"clicked\\\":\" \$5 \",\\\"age\\\":\" \$2 \",\\\"color\\\":\\\"\" c[\$3 + 1] \"\\\"}\" }" >log.jsonl
head -1 log.jsonl >one.jsonl
draw 300 | awk '{ print ($5 ? 1 : -1) " |f age:" $2 " |c c" $3 }' >log.vw
draw 300 | awk "BEGIN { $color } { print c[\$3 + 1] \",\" \$2 \",\" \$5 }" >no_header.csv
draw 600 | awk 'BEGIN { print "userId,movieId,rating,timestamp" } { print 1 + $4 "," 100 + int($2 / 4) "," 1 + $3 % 5 "," 1e9 + $1 * 1000 }' >ratings.csv
draw 600 | awk 'BEGIN { print "user,item,time" } { print "u" $4 ",i" int($2 / 4) "," 1e9 + $1 * 1000 }' >taken.csv
draw 300 | awk 'BEGIN { print "age,size,sold" } { print $2 "," $4 "," $5 }' >plain.csv
draw 300 | awk 'BEGIN { print "user_id,age,income" } { print $1 % 9 "," $2 "," $2 * 2.5 }' >ids.csv
draw 300 | awk 'BEGIN { print "id,age,user_id" } { print $1 "," $2 "," $1 % 9 }' >only_ids.csv
draw 300 | awk 'BEGIN { print "age,size,years" } { print $2 "," $4 "," $2 + $4 }' >many_integers.csv
gzip -c two_classes.csv >packed.csv.gz
draw 300 | awk '{ print $5, $2 + 1 ":1", 200 + $3 ":0.5" }' >two.libsvm
draw 300 | awk '{ print $2 * 1.5, 1 + $3 ":1" }' >real.libsvm
draw 300 | awk '{ print $5, "0:" $2 ":1", "1:" 200 + $3 ":1" }' >two.libffm
furrow rows schema two_classes.csv --label sold --out schema.json -q >/dev/null
furrow rows encode two_classes.csv --schema schema.json --dictionary names --out encoded.libffm -q >/dev/null
awk 'BEGIN { for (i = 0; i < 200; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv vectors --row-type T_FLOAT_DENSE >/dev/null
for kind in fvecs npy; do furrow model export -q vectors v.$kind >/dev/null; done
furrow index build --base v.fvecs --out v.index --nlist 4 --m 0 -q >/dev/null
furrow train -q --model gbdt --train two_classes.csv --label sold --out trees.model --trees 3
furrow train -q --model recommender --train taken.csv --out shop.model >/dev/null
for file in two_classes.csv many_classes.csv numbers.tsv no_label.csv two_labels.csv constant.csv log.jsonl one.jsonl log.vw no_header.csv \
  ratings.csv taken.csv plain.csv ids.csv only_ids.csv many_integers.csv packed.csv.gz two.libsvm real.libsvm two.libffm \
  schema.json names v.fvecs v.npy v.index trees.model trees.model/furrow.json shop.model; do
  echo "== $file"
  try furrow info "$file" >printed
  grep -E '^(label column|task)' printed
  furrow info --json "$file" | is_json
  sed -n 's/^  furrow/furrow/p' printed >commands
  [ -s commands ] || echo "no commands"
  log=two_classes.csv && [ "$file" = shop.model ] && log=taken.csv
  while read -r line; do
    filled=${line//LATER_LOG/$log} && filled=${filled//QUERIES.fvecs/v.fvecs} && filled=${filled//ROWS/$log} && filled=${filled//LOG/$log}
    filled=${filled//ITEM/i3} && filled=${filled//MODEL/made.model}
    (set -o pipefail && eval "$filled") >printed 2>&1 && echo "ok $line" || { echo "fails $line" && cat printed; }
  done <commands
done
