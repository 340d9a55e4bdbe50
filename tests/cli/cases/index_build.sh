# vectors of small whole numbers, so that every distance is exact: three sources give the same index
awk 'BEGIN { for (i = 0; i < 200; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17 + i % 7 * j) % 50 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
for ending in fvecs fbin npy; do furrow model export -q rows v.$ending --no-ids >/dev/null; done
furrow index build --base v.fvecs --out a.index --nlist 4 --m 0 | grep -v -E '^  |imbalance|added'
furrow index build --base v.fbin --out b.index --nlist 4 --m 0 --threads 1 --json | is_json
furrow index build --base v.npy --train v.fvecs --out c.index --nlist 4 --m 0 -q --memory 8KiB --threads 3 >/dev/null
cmp a.index b.index && cmp a.index c.index
furrow index verify a.index
echo "---- adding has its own time, also before settings are chosen"
furrow index build --base v.fbin --out graph.index --factory HNSW4 --recall 0.9 --json | grep -c "vectors_per_second.*[0-9]"
echo "---- trained first, filled later"
furrow index build --train v.npy --out d.index --nlist 4 --m 0 | grep -E 'vectors|trained'
furrow index add d.index --base v.fvecs | grep -v '^ '
cmp a.index d.index
echo "---- from a model: columns, ids of their own"
awk '{ print $2 "\t" $1 * 3 + 7 "\t" $3 }' v.tsv >c.tsv
furrow model import -q c.tsv emb --format TextColumn --row-type T_FLOAT_SPARSE >/dev/null
furrow index build --from-model emb --out e.index --nlist 4 --m 0 -q | grep -E 'vectors |dimension'
furrow index search e.index v.fvecs -k 2 --nprobe 4 | head -n 3
furrow index build --from-model emb --ids 100:400 --out f.index --nlist 4 --m 0 -q | grep 'vectors '
furrow index search f.index v.fvecs -k 3 --nprobe 4 | head -n 2
furrow index build --from-model emb --by row --out g.index --nlist 1 --m 0 -q | grep -E 'vectors |dimension'
echo "---- ids from a file"
awk 'BEGIN { for (i = 0; i < 200; i++) print 1000 - i }' >ids.txt
furrow index build --base v.fvecs --ids ids.txt --out h.index --nlist 4 --m 0 --direct-map hash --nprobe 3 >/dev/null
furrow index search h.index v.fvecs -k 1 --nprobe 4 | head -n 2
furrow index info h.index | grep -E 'direct map|nprobe|stored'
for kind in "--m 4" "--m 2 --nbits 4" "--m 2 --opq" "--m 4 --refine-flat" "--m 2 --refine-m 4 --refine-nbits 5" "--m 2 --hnsw 4" \
  "--m 4 --metric ip --normalize" "--m 4 --nbits 6 --no-residual"; do
  furrow index build --base v.fvecs --out k.index --nlist 2 --nbits 5 $kind --force -q >/dev/null
  furrow index verify k.index
done
