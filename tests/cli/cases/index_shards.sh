# Shards of one process: written, described, searched, checked, merged; what is refused.
awk 'BEGIN { for (i = 0; i < 300; i++) for (k = 0; k < 4; k++) print k "\t" i "\t" (i * 37 + k * 11) % 19 - 9.5 }' >m.tsv
furrow model import -q m.tsv emb --format TextColumn --row-type T_FLOAT_SPARSE >/dev/null
furrow index build --from-model emb --out s.index --nlist 4 --m 2 --nbits 4 --shards -q --threads 1 |
  grep -E '^(written|shards|vectors|bytes)'
ls s.index*  | sed 's/-[0-9a-f]*$/-DIGEST/'
sed 's/"[0-9a-f]\{16\}"/"DIGEST"/; s/-[0-9a-f]\{16\}"/-DIGEST"/; s/"digest": "[^"]*"/"digest": "DIGEST"/' s.index
furrow index info s.index | sed 's/-[0-9a-f]* .*$/-DIGEST/' | head -8
furrow index info --json s.index | is_json
furrow index verify s.index
furrow index merge s.index --out one.index | grep -v '^ '
echo "---- the same results"
printf '\002\000\000\000\004\000\000\000' >q.fbin
printf '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100' >>q.fbin
printf '\000\000\200\277\000\000\000\100\000\000\000\000\000\000\200\277' >>q.fbin
furrow index search one.index q.fbin -k 4 --nprobe 2 >one.txt
furrow index search s.index q.fbin -k 4 --nprobe 2 | cmp - one.txt
furrow index search one.index q.fbin --range 60 --filter-ids 10:200 >one.txt
furrow index search s.index q.fbin --range 60 --filter-ids 10:200 | cmp - one.txt
echo "---- refused"
try furrow index build --from-model emb --out s.index --nlist 4 --m 2 --nbits 4 --shards -q
try furrow index build --from-model emb --out t.index --nlist 4 --m 2 --nbits 4 --shards --direct-map array -q
try furrow index build --from-model emb --out t.index --nlist 4 --m 2 --nbits 4 --shards --refine-flat --refine-m 2 -q
try furrow index add s.index --base q.fbin
try furrow index merge s.index one.index --shift --out t.index
try furrow index search s.index q.fbin --max-codes 5
echo '{"format": "furrow-shards", "version": 1, "shards": [{"file": "../one.index"}]}' >up.index
try furrow index search up.index q.fbin
printf x >>s.index.shard0-*
try furrow index search s.index q.fbin 2>&1 | sed 's/-[0-9a-f]\{16\}/-DIGEST/'
