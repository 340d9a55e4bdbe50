awk 'BEGIN { for (i = 0; i < 40; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%s\n", i, j, i == 17 && j == 2 ? "NaN" : i + j }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
build() { furrow index build "$@" >/dev/null || echo "exit $?"; }
build
build --base v.fvecs --out x.index --m 2
build --base v.fvecs --out x.index --nlist 4 --m 3
build --base v.fvecs --out x.index --nlist 400 --m 0 --on-nan skip
build --base v.fvecs --out x.index --nlist 4 --m 2
build --base v.fvecs --out x.index --nlist 4 --m 0
build --base nowhere.fvecs --out x.index --nlist 4 --m 0
build --base v.odd --out x.index --nlist 4 --m 0
build --base v.tsv --kind fvecs --out x.index --nlist 4 --m 0
build --base v.tsv --kind f32 --out x.index --nlist 4 --m 0
build --base v.fvecs --dim 5 --out x.index --nlist 4 --m 0
build --base v.fvecs --from-model rows --out x.index --nlist 4 --m 0
build --from-model nowhere --out x.index --nlist 4 --m 0
build --from-model rows --ids ids.txt --out x.index --nlist 4 --m 0
build --base - --kind fvecs --out x.index --nlist 4 --m 0
build --base - --train v.fvecs --out x.index --nlist 4 --m 0
build --base v.fvecs --out - --nlist 4 --m 0
build --base v.fvecs --out small.index --nlist 4 --m 0
build --base v.fvecs --out x.index --nlist 4 --m 0 --metric cosine
build --out x.index --nlist 4 --m 0
echo 1 2 3 >ids.txt
build --base v.fvecs --ids ids.txt --out x.index --nlist 4 --m 0 --on-nan skip
furrow index build --base v.fvecs --out y.index --nlist 4 --m 0 --on-nan skip | grep -E 'vectors  |left out'
furrow index add y.index --base v.fvecs --on-nan skip | grep -E 'added|left out|^vectors'
try furrow index add y.index --base v.fvecs
try furrow index add y.index
try furrow index add y.index --base v.fvecs --on-nan skip --out small.index
try furrow index search y.index v.fvecs -k 1
try furrow index search y.index v.fvecs --range 5 --out-ids z.i64
build --base v.fvecs --train v.fvecs --dim 4 --kind npy --out x.index --nlist 4 --m 0
ls -A | grep -E 'index|furrow-|z.i64'
echo "---- memory, options without effect"
build --base v.fvecs --out x.index --nlist 4 --m 0 --on-nan skip --memory 0
build --base v.fvecs --out x.index --nlist 4 --m 0 --on-nan skip --nprobe 0
build --base v.fvecs --out x.index --nlist 4 --m 0 --on-nan skip --by row
build --base v.fvecs --out x.index --nlist 4 --m 0 --on-nan skip --threads 1025
build --from-model rows --ids 5:2 --out x.index --nlist 4 --m 0
# 40 vectors have 640 bytes: three quarters of the memory are for the sample
furrow index build --base v.fvecs --out m.index --nlist 4 --m 0 --on-nan skip --memory 854 | grep 'trained with'
furrow index build --base v.fvecs --out m.index --nlist 4 --m 0 --on-nan skip --memory 600 --force | grep 'trained with'
furrow index build --base v.fvecs --out m.index --nlist 4 --m 0 --on-nan skip --memory 600 --force -q | grep 'trained with'
try furrow index search y.index v.fvecs --nprobe 0
head -c 20 v.fvecs >one.fvecs
furrow index search y.index one.fvecs -k 100 --nprobe 4 --out-ids far.ivecs | grep '^queries  '
furrow index search y.index one.fvecs -k 100 --nprobe 4 --out-ids far.ivecs --force -q | grep '^queries  '
echo "---- too large"
awk 'BEGIN { for (i = 0; i < 30; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%s\n", i, j, i == 21 && j == 2 ? "3e38" : (i * 31 + j) % 50 }' >l.tsv
furrow model import -q l.tsv large --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q large l.fvecs --no-ids >/dev/null
build --base l.fvecs --out x.index --nlist 3 --m 0
furrow index build --base l.fvecs --out l.index --nlist 3 --m 0 --on-nan skip -q | grep -E 'vectors  |left out|trained with'
try furrow index add l.index --base l.fvecs
# ids and names from a device that has no end are not waited for; a pipe is read
awk 'BEGIN { for (i = 0; i < 50; i++) for (j = 0; j < 2; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * 17) % 97 }' >some.tsv
furrow model import -q some.tsv some --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q some some.fvecs --no-ids >/dev/null
device=(timeout -k 1 60 furrow index build --base some.fvecs --nlist 2 --m 0 -q --out device.index)
try "${device[@]}" --ids /dev/zero
try "${device[@]}" --names /dev/zero
try "${device[@]}" --ids /dev/null
try "${device[@]}" --ids <(seq 50) >/dev/null
try timeout -k 1 60 furrow index names device.index --set /dev/zero
try timeout -k 1 60 furrow index remove device.index --ids /dev/zero
