awk 'BEGIN { for (i = 0; i < 300; i++) for (j = 0; j < 8; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17 + i * j * 7) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
built() { furrow index build --base v.fvecs --out x.index --force -q "$@" | grep -E '^(factory|recall|nprobe|ef search|k factor|trained with)'; }
echo "---- strings"
for string in Flat IDMap2,Flat SQ8 'PCA4,IVF4,SQ6' PQ4x4fs 'OPQ4,IVF4,PQ4x4fs,RFlat' 'PQ4x4,Refine(SQ8)' HNSW8 'IDMap2,HNSW8_PQ4x4' 'OPQ4,HNSW8,SQ8,RFlat'; do
  built --factory "$string"
  furrow index verify x.index
done
built --factory Flat --metric ip
built --factory HNSW8 --ef-construction 30 --recall 0.9
furrow index info x.index | grep -E '^ef '
seq 1000 1299 >ids.txt
built --factory SQ8 --ids ids.txt
furrow index search x.index v.fvecs -k 1 -q | sed -n 7p
echo "---- chosen"
built
built --normalize --metric ip
built --max-bytes 3000
built --factory IVF8,Flat --recall 0.8
furrow index info x.index | grep -E '^(factory|nprobe)'
echo "---- the recall is measured as the index compares vectors, with queries of one's own, and of codes alone"
head -c 3600 v.fvecs >q.fvecs
built --factory L2norm,IVF8,Flat --recall 0.9
furrow index recall x.index q.fvecs --base v.fvecs -k 10 --nprobe 8 | awk 'NR > 1 { print $1, $5 }'
built --factory IVF8,Flat --recall 0.9 --queries q.fvecs
furrow index build --base v.fvecs --out x.index --force --factory PQ4x4 --recall 0.9 >built 2>note
grep recall built note
furrow model export -q rows v.safetensors --to safetensors >/dev/null
furrow index build --base v.safetensors --out y.index --factory PQ4x4 -q >/dev/null && cmp x.index y.index
echo "---- refused"
refuse() { furrow index build --base v.fvecs --out no.index "$@" >/dev/null || echo "exit $?"; }
refuse --factory NSG32
refuse --factory Flat --ef-construction 30
refuse --nlist 4 --m 0 --ef-construction 30
refuse --factory IVF4,PQ3
refuse --factory Flat --nlist 4
refuse --max-bytes 100
refuse --max-bytes 100MiB --factory Flat
refuse --recall 1.5
refuse --factory IVF4,Flat --queries q.fvecs
refuse --recall 0.9 --queries q.fvecs --nprobe 4
refuse --base v.safetensors --array x
refuse --m 2
refuse --opq
furrow index build --train v.fvecs --out no.index >/dev/null || echo "exit $?"
ls no.index 2>&1
