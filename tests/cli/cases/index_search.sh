awk 'BEGIN { for (i = 0; i < 60; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 50 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
furrow model export -q rows v.npy --no-ids >/dev/null
furrow index build --base v.fvecs --out a.index --nlist 3 --m 0 --nprobe 3 -q >/dev/null
furrow index search a.index v.fvecs -k 4 | head -n 3
furrow index search a.index v.npy -k 4 | cmp - <(furrow index search a.index v.fvecs -k 4 --nprobe 3 --threads 2)
furrow index search a.index - --kind fvecs -k 4 <v.fvecs | cmp - <(furrow index search a.index v.fvecs -k 4)
tail -c +129 v.npy | furrow index search a.index - --kind f32 --dim 4 -k 4 | cmp - <(furrow index search a.index v.fvecs -k 4)
echo "---- files"
furrow index search a.index v.fvecs -k 2 --out-ids o.ivecs --out-dist o.fvecs | head -n 4
od -An -td4 -w12 o.ivecs | head -n 2
od -An -tf4 -w12 -j 4 -N 8 o.fvecs
furrow index search a.index v.fvecs -k 2 --out-ids o.i64 --out-dist o.f32 --json | is_json
od -An -td8 -w16 o.i64 | head -n 2
ls -l o.i64 o.f32 | awk '{ print $5 }'
furrow index search a.index v.fvecs -k 2 --out-ids ids.npy >/dev/null
cmp <(tail -c +129 ids.npy) o.i64
echo "---- more than there are"
furrow index search a.index v.fvecs -k 3 --filter-ids 5,9 | head -n 2
furrow index search a.index v.fvecs -k 3 --filter-ids 5,9 --out-ids few.ivecs >/dev/null
od -An -td4 -w16 few.ivecs | head -n 2
echo "---- by range, by ids"
furrow index search a.index v.fvecs --range 100 | head -n 3
furrow index search a.index v.fvecs --range 100 --out-ids r.i64 --out-starts r.npy --out-dist r.f32 | head -n 5
tail -c +129 r.npy | od -An -td8 -w32 | head -n 1
furrow index search a.index v.fvecs -k 2 --filter-ids 30: | head -n 2
furrow index search a.index v.fvecs -k 2 --filter-ids 0:30 --others | cmp - <(furrow index search a.index v.fvecs -k 2 --filter-ids 30:)
furrow index search a.index v.fvecs -k 2 --filter-ids o.ivecs | head -n 1
furrow index search a.index v.fvecs -k 1 --json | is_json
furrow index search a.index v.fvecs -k 1 --json | head -n 12
echo "---- wrong"
search() { furrow index search "$@" >/dev/null || echo "exit $?"; }
search a.index
search nowhere.index v.fvecs
search a.index nowhere.fvecs
search v.fvecs v.fvecs
search a.index o.fvecs
search a.index -
search a.index o.f32 --dim 2
search a.index v.fvecs -k 0
search a.index v.fvecs -k 0x
search a.index v.fvecs --range 3 -k 3
search a.index v.fvecs --out-ids o.i64
search a.index v.fvecs --out-ids x.fvecs
search a.index v.fvecs --out-dist x.ivecs
search a.index v.fvecs --out-ids x.i64 --out-dist x.i64
search a.index v.fvecs --out-starts x.i64
search a.index v.fvecs --filter-ids 3:x
search a.index v.fvecs --filter-ids nowhere.npy
search a.index v.fvecs --others
printf '\0\0\300\177\0\0\0\0\0\0\0\0\0\0\0\0' | (cat <(tail -c +129 v.npy) -) >nan.f32
search a.index nan.f32 --dim 4
(for i in $(seq 70); do tail -c +129 v.npy; done && printf '\0\0\0\0\0\0\200\377\0\0\0\0\0\0\0\0') >infinite.f32
search a.index infinite.f32 --dim 4
search a.index infinite.f32 --dim 4 --range 3
(for i in $(seq 70); do tail -c +129 v.npy; done && printf '\0\0\0\0\0\0\0\177\0\0\0\0\0\0\0\0') >large.f32
search a.index large.f32 --dim 4
head -c 30 v.fvecs | search a.index - --kind fvecs
ls x.* 2>/dev/null
furrow index search a.index v.fvecs | head -n 1 >/dev/null
