awk 'BEGIN { for (i = 0; i < 90; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 50 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
head -c 600 v.fvecs >first.fvecs
tail -c +601 v.fvecs | head -c 600 >second.fvecs
tail -c +1201 v.fvecs >third.fvecs
furrow index build --base v.fvecs --out all.index --nlist 5 --m 0 -q >/dev/null
echo "---- parts that are merged are the whole"
furrow index remove all.index --ids : --out empty.index
for part in first second third; do furrow index add empty.index --base $part.fvecs --out $part.index -q >/dev/null; done
furrow index merge first.index second.index third.index --out merged.index --shift
cmp all.index merged.index
furrow index merge --json first.index --out one.index | is_json
cmp one.index first.index
echo "---- lists elsewhere, bytes behind"
furrow index convert disk.index whole.index --inline-lists >/dev/null
mv l.data elsewhere.data
try furrow index merge disk.index --out x.index
furrow index merge disk.index --lists elsewhere.data --out same.index | grep vectors
cmp same.index whole.index
try furrow index merge disk.index --lists elsewhere.data --out elsewhere.data --force
try furrow index merge disk.index disk.index --lists elsewhere.data --out x.index
(cat first.index && printf x) >long.index
try furrow index merge long.index second.index --shift --out x.index
furrow index merge long.index second.index third.index --shift --out merged.index --force --allow-trailing | grep vectors
cmp all.index merged.index
rm same.index
echo "---- added and removed again"
furrow index add all.index --base first.fvecs --out more.index -q | grep -E 'added|vectors'
furrow index remove more.index --ids 90:120
cmp all.index more.index
seq 0 29 >ids.txt
furrow index remove all.index --ids ids.txt --out less.index --json | is_json
furrow index remove all.index --ids 30: --others --out same.index >/dev/null
cmp less.index same.index
furrow index remove less.index --ids 1,2,3 | grep removed
furrow index remove less.index --ids 40,41,1000 | grep removed
furrow index search less.index v.fvecs -k 1 --nprobe 5 | sed -n '41,42p'
echo "---- wrong"
try furrow index merge --out x.index
try furrow index merge first.index nowhere.index --out x.index
try furrow index merge first.index small.index --out x.index
try furrow index merge first.index --out all.index
try furrow index merge first.index --out -
try furrow index remove all.index
try furrow index remove all.index --ids nowhere.txt
try furrow index remove all.index --ids 1:2:3
try furrow index remove nowhere.index --ids 1
try furrow index remove all.index --ids 1 --out merged.index
try furrow index add all.index --base small.libsvm --kind fvecs
furrow index add small.index --base v.fvecs --ids nowhere.txt || echo "exit $?"
ls -A | grep -E 'x.index|furrow-'
cmp all.index merged.index
echo "---- ids that change, ids that stay"
furrow index build --base v.fvecs --out flat.index --nlist 5 --m 2 --nbits 4 --refine-flat -q | grep kind
furrow index remove flat.index --ids 0:10 | grep removed
furrow index remove flat.index --ids 0:10 -q | grep removed
furrow index remove flat.index --ids 1000: | grep removed
seq 90 >own.txt
furrow index build --base v.fvecs --ids own.txt --out own.index --nlist 5 --m 2 --nbits 4 --refine-flat -q | grep kind
furrow index remove own.index --ids 0:10 | grep removed
furrow index build --base v.fvecs --out pqr.index --nlist 5 --m 2 --nbits 4 --refine-m 4 --refine-nbits 4 -q >/dev/null
try furrow index remove pqr.index --ids 0:10
furrow index build --base v.fvecs --out map.index --nlist 5 --m 2 --nbits 4 --direct-map array -q >/dev/null
try furrow index remove map.index --ids 0:10
try furrow index remove all.index --ids 5:2
