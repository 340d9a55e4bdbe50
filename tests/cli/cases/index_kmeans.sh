# three groups of vectors, of 200, 100 and 60
awk 'BEGIN { for (i = 0; i < 360; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i < 200 ? 0 : i < 300 ? 1000 : 5000) + (i * 31 + j * j * 17) % 7 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
kmeans() { furrow index kmeans "$@" || echo "exit $?"; }
kmeans v.fvecs --k 3 --out c.npy --out-clusters clusters.npy --seed 3 | sed '/^seconds/,$d'
kmeans v.fvecs --k 3 --out c1.npy --seed 3 --threads 1 --json >report.json
is_json <report.json
cmp c.npy c1.npy
furrow info c.npy
# a sample, all vectors, unit length, one of the other kinds of files
kmeans v.fvecs --k 3 --out c.fvecs --train-size 100 --rounds 5 --spherical | sed '/^seconds/,$d'
kmeans v.fvecs --k 360 --out all.fvecs >/dev/null
cmp v.fvecs all.fvecs
echo "---- wrong"
kmeans v.fvecs --k 361 --out d.npy
kmeans v.fvecs --k 3
kmeans v.fvecs --out d.npy
kmeans v.fvecs --k 0 --out d.npy
kmeans v.fvecs --k 3 --out c.npy
kmeans v.fvecs --k 3 --out v.fvecs --force
kmeans v.fvecs --k 3 --out d.npy --out-clusters d.npy
kmeans v.fvecs --k 3 --out d.npy --train-size 2
kmeans v.fvecs --k 3 --out d.txt
kmeans v.fvecs --k 3 --out -
kmeans - --kind fvecs --k 3 --out d.npy <v.fvecs
kmeans missing.npy --k 3 --out d.npy
printf '\1\0\0\0\0\0\200\77\1\0\0\0\0\0\300\177' >nan.fvecs
kmeans nan.fvecs --k 1 --out d.npy
find . -name 'd.*'
