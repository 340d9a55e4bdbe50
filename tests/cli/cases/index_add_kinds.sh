# vectors are added to what was trained elsewhere
seq 1 1600 | awk '{ printf "%s%s", sin($1 * $1) , $1 % 4 ? " " : "\n" }' >v.txt
awk '{ for (r = 0; r < 4; r++) print r "\t" NR - 1 "\t" $(r + 1) }' v.txt >e.tsv
mkdir fm
furrow model import e.tsv fm/embedding --format TextColumn --row-type T_FLOAT_DENSE >/dev/null
furrow model export fm/embedding v.fvecs >/dev/null
furrow index build --base v.fvecs --out a.index --nlist 4 --m 2 --nbits 4 --hnsw 4 -q >/dev/null
# the graph of the centroids is an index of its own
at=$(furrow index map a.index | awk '$3 == "quantizer/fourcc" { print $1 }')
tail -c +$((at + 1)) a.index >graph.index
furrow index info graph.index --allow-trailing | sed -n 2,3p
furrow index add graph.index --base v.fvecs --allow-trailing -q | sed -n 2,4p
# and its vectors are another one, to which they can be added
at=$(furrow index map a.index | awk '$3 == "quantizer/storage/fourcc" { print $1 }')
tail -c +$((at + 1)) a.index >flat.index
furrow index add flat.index --base v.fvecs --allow-trailing -q | sed -n 2,4p
seq 1000 1399 >ids.txt
try furrow index add flat.index --base v.fvecs --ids ids.txt -q
furrow index search flat.index v.fvecs -k 1 --out-ids first.i64 >/dev/null
od -A n -t d8 -w8 first.i64 | awk '$1 != NR + 3' | wc -l
