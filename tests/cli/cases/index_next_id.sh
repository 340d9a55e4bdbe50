# ids of removed vectors are not given again; large ids do not use up all others; the report has the ids
awk 'BEGIN { for (i = 0; i < 40; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
seq 1001 1039 >ids.txt
echo 9223372036854775807 >>ids.txt
furrow index build -q --base v.fvecs --nlist 2 --m 2 --nbits 4 --out x.index >/dev/null
added() { furrow index add "$@" --base v.fvecs -q | grep -E ' id '; }
added x.index
furrow index remove x.index --ids 70:80 -q | grep vectors
cat x.index.nextid
added x.index
ls x.index.nextid 2>&1
echo "- explicit ids"
added x.index --ids ids.txt
added x.index
furrow index add x.index --base v.fvecs -q --json | tr ',' '\n' | grep _id
echo "- copies"
furrow index remove x.index --ids 1119 -q --out y.index | grep vectors
cat y.index.nextid
furrow index convert y.index z.index >/dev/null && added z.index
furrow index remove x.index --ids : --out empty.index -q | grep vectors
added empty.index
furrow index build -q --base v.fvecs --nlist 2 --m 2 --nbits 4 --out y.index --force >/dev/null
ls y.index.nextid 2>&1
added y.index
echo "- a file in the way"
echo precious >x.index.nextid
try furrow index remove x.index --ids 1119 -q
cat x.index.nextid
