# the size of a file is known before it is built
awk 'BEGIN { for (i = 0; i < 300; i++) for (j = 0; j < 8; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17 + i % 7 * j * 5) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
for kind in "--m 0" "--m 4 --nbits 4" "--m 8 --nbits 5" "--m 4 --nbits 4 --opq" "--m 2 --nbits 4 --opq --opq-dim 4" \
  "--m 4 --nbits 4 --refine-flat" "--m 4 --nbits 4 --refine-m 8 --refine-nbits 5" "--m 4 --nbits 4 --normalize --metric ip" \
  "--m 4 --nbits 4 --direct-map array" "--m 4 --nbits 4 --direct-map hash"; do
  furrow index build --base v.fvecs --out k.index --nlist 4 $kind --force -q >/dev/null
  furrow index estimate -n 300 -d 8 --nlist 4 $kind --only-sizes | head -n 1 | cut -d' ' -f 1-18 |
    awk -v kind="$kind" -v bytes="$(wc -c <k.index)" '{ print kind, $2, $2 == bytes ? "as built" : "not " bytes }'
done
furrow index estimate -n 100000000 -d 128 --nlist 65536 --m 32 --hnsw 32 --only-sizes
furrow index estimate -n 1000 -d 8 --nlist 4 --m 4 --json --threads 1 | is_json
furrow index estimate -n 1000 -d 8 --nlist 4 --m 4 | grep -c ' s$'
# more vectors, lists and rounds take longer, with any number of threads; figures are positive
seconds() { furrow index estimate -d 16 --m 4 --nbits 6 --json "$@" | sed -n '/"seconds"/,/}/s/^ *"\([a-z]*\)": \([-0-9.e]*\),*$/\1 \2/p'; }
for threads in 1 2; do
  { seconds -n 100 --nlist 4 --threads $threads; seconds -n 5000000 --nlist 4096 --threads $threads; } |
    awk '{ if ($2 <= 0) print $1, "is", $2; if ($1 in small) print $1, (2 * small[$1] < $2 ? "grows" : "does not grow"); else small[$1] = $2 }'
done
try furrow index estimate -n 1000 -d 8 --nlist 4 --m 3 --only-sizes
try furrow index estimate -n 1000 -d 0 --nlist 4 --m 3
try furrow index estimate -n 1000 --nlist 4 --m 3
echo "---- options without effect"
for kind in "--m 0 --nbits 4" "--m 0 --no-residual" "--m 4 --refine-nbits 4" "--m 4 --opq-dim 4" "--m 4 --refine-m 4 --no-residual" \
  "--m 4 --refine-m 3" "--m 0 --opq" "--m 4 --hnsw 1" "--m 4 --opq --opq-dim 16" "--m 4 --nbits 0" "--m 4 --threads 1025"; do
  try furrow index estimate -n 1000 -d 8 --nlist 4 $kind --only-sizes
done
