# Attributes of vectors: from a table into a file next to the index, kept by every change, and filters by them.
printf '0 0\n1 0\n2 0\n3 0\n4 0\n5 0\n' >base.txt
printf '6 0\n7 0\n' >more.txt
printf '0.1 0\n4.2 0\n' >queries.txt
cat >items.csv <<'END'
id,price,lang,genres,added,sold,zip
3,9.5,de,Comedy|Drama,2024-05-31,false,01234
0,12,fr,Drama,2024-06-01 12:00,true,00001
5,,en,Comedy,,false,99999
4,3,de,,2023-01-01,true,4
2,1,"d ""e""",Comedy|Drama,2024-01-01,,5
77,1,de,,,,
END
furrow index build --base base.txt --factory IDMap,Flat --out i.index --attributes items.csv --quiet | grep -v seconds | grep -E 'attribute|row'
furrow index attributes i.index
for filter in 'price < 10 and lang in ("de", "fr") and not sold' 'genres = "Comedy"' "added >= '2024-05-31' or price is missing" 'lang = "d \"e\""'; do
  echo "$filter"
  furrow index search i.index queries.txt -k 2 --where "$filter"
done
# Mistakes have a place.
for filter in 'price < ten' 'prize < 10' 'lang = 5' 'genres < "a"' 'added > "soon"' 'price < 10 and' '(price < 10'; do
  try furrow index search i.index queries.txt -k 2 --where "$filter"
done
try furrow index attributes i.index --where 'price < 10 or prize'
try furrow index search i.index queries.txt --where sold --filter-ids 1
try furrow index search i.index queries.txt --recall 0.9
# Changes keep them: new vectors may have none, and given ones may change.
furrow index add i.index --base more.txt --quiet | grep -E 'attribute|row'
printf 'id,price,colour\n6,2,red\n3,10,blue\n' >more.csv
furrow index attributes i.index --set more.csv
furrow index remove i.index --ids 0 --quiet >removed
furrow index attributes i.index --where 'colour = "red" or price >= 3 or lang is missing'
furrow index convert i.index j.index --quiet >converted
furrow index merge i.index j.index --out m.index --shift --quiet | grep -E 'attribute|row'
furrow index attributes m.index --where 'colour in ("red", "blue")' --json
furrow index verify -q m.index
# Tables that do not fit.
printf 'id,lang\n1,5\n1,6\n' >twice.csv
printf 'id,lang\n1,5\nx,6\n' >odd.csv
printf 'id,lang\n901,5\n902,6\n' >others.csv
printf 'key,lang\n1,5\n' >nokey.csv
printf 'id,price\n1,cheap\n' >text.csv
printf 'id,lang\n' >empty.csv
for table in twice.csv odd.csv others.csv nokey.csv text.csv absent.csv empty.csv; do
  try furrow index attributes i.index --set $table
done
try furrow index attributes i.index --set text.csv --type price=cheap
try furrow index add i.index --base more.txt --attributes nokey.csv
# An index that another program changed no longer has them.
cp m.index i.index
try furrow index search i.index queries.txt --where sold
furrow index attributes i.index --drop
try furrow index search i.index queries.txt --where sold
# Names are keys, too.
printf 'zero\none\ntwo\nthree\nfour\nfive\n' >names.txt
printf 'name,id,year\nfour,1,1999\nzero,2,2001\n' >named.csv
furrow index build --base base.txt --factory Flat --names names.txt --out n.index --attributes named.csv --attribute-type year=text --quiet |
  grep -E 'attribute|row'
furrow index search n.index queries.txt -k 2 --where 'year < "2000" or id = "2"'
# What is listed can be set again.
furrow index attributes n.index
furrow index attributes n.index >n.tsv
furrow index attributes n.index --drop
furrow index attributes n.index --set n.tsv --type year=text >again
furrow index attributes n.index | cmp - n.tsv
printf 'id,added\n1,2024-05-31T12:00:00.5+02:00\n5,1969-12-31\n' >times.csv
furrow index attributes m.index --set times.csv >set
furrow index attributes m.index --where 'added is not missing' >m.tsv
cut -f 1,5 m.tsv
furrow index attributes m.index --set m.tsv >set
furrow index attributes m.index --where 'added is not missing' | cmp - m.tsv
# An index whose lists are in a data file has them, too, also if it is written in parts.
furrow index build --base base.txt --nlist 1 --m 0 --lists-file d.lists --out d.index --attributes items.csv --quiet |
  grep -E 'attribute|row'
furrow index search d.index queries.txt -k 2 --where 'genres = "Comedy"'
awk 'BEGIN { print "id,price"; for (i = 0; i < 20000; i++) print i "," i * 7 % 1000 }' >many.csv
awk 'BEGIN { for (i = 0; i < 20000; i++) print i % 97, i % 89, i % 83, i % 79 }' >many.txt
head -20 many.txt >few.txt
for size in 1MiB 1GiB; do
  furrow index build --base many.txt --nlist 8 --m 0 --lists-file $size.lists --out $size.index --attributes many.csv --memory $size -q |
    grep -E 'rows|vectors  '
  furrow index search $size.index few.txt -k 5 --where 'price < 20' >$size.txt
  furrow index verify -q $size.index
done
cmp 1MiB.txt 1GiB.txt
# Shards have them together, next to the manifest.
furrow index build --base base.txt --nlist 2 --m 0 --out s.index --shards --attributes items.csv --quiet | grep -E 'attribute|row'
furrow index info s.index | grep attribute
furrow index verify s.index
for filter in 'price < 10 and lang in ("de", "fr") and not sold' 'genres = "Comedy"' 'price < 0'; do
  furrow index search s.index queries.txt -k 2 --where "$filter"
done
furrow index search s.index queries.txt --range 20 --where 'genres = "Comedy"'
try furrow index search s.index queries.txt --where prize
try furrow index search s.index queries.txt --where sold --max-codes 5
printf 'id,colour\n5,red\n' >colours.csv
furrow index attributes s.index --set colours.csv
furrow index attributes s.index --where 'colour = "red"'
furrow index merge s.index --out t.index --quiet | grep attribute
furrow index search t.index queries.txt -k 1 --where 'colour = "red"'
try furrow index attributes s.index --set others.csv
furrow index build --base more.txt --nlist 1 --m 0 --out u.index --shards --quiet >built
cp s.index.attributes u.index.attributes
try furrow index search u.index queries.txt --where sold
try furrow index verify u.index
try furrow index build --base more.txt --nlist 1 --m 0 --out s.index --shards --force --quiet >built
try furrow index search s.index queries.txt --where sold
furrow index attributes u.index --drop
try furrow index attributes u.index
