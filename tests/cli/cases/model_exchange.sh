# out and in again
printf '0\t1\t0.5\n1\t1\t-1\n0\t4\t2\n1\t4\t8\n' >e.tsv
furrow model import e.tsv e --format TextColumn --row-type T_FLOAT_SPARSE --cols 6
for ending in npy npz fvecs fbin safetensors tsv libsvm; do
  furrow model export -q e "x.$ending" >/dev/null && furrow model import -q "x.$ending" "from_$ending" --format TextColumn \
    --row-type T_FLOAT_SPARSE --cols 6 >/dev/null
  furrow model diff -q e "from_$ending" && echo "$ending: the same"
done
cat x.tsv x.libsvm
furrow model export e - --to tsv
furrow model export e y.npy --type f64 --no-ids --json
ls y.*
echo "---- what it cannot do"
try furrow model export e x.npy
try furrow model export e x.unknown
try furrow model export e -
try furrow model export e x.bin --to npyy
try furrow model export e z.npy --ids i.npy --no-ids
try furrow model import nothing.npy z
try furrow model import e.tsv e
try furrow model import e.tsv z --rows 0
try furrow model import e.tsv z --attribute x
printf '0\t1\n' >short.tsv
try furrow model import short.tsv z
printf '0\t1\t0.5\n0\tx\t1\n' >bad.tsv
try furrow model import bad.tsv z
ls -A | grep -v '\.'
