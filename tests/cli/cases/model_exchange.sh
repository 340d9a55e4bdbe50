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
printf 'binf' >forest.model
try furrow model import forest.model z
try furrow model import e.tsv e
try furrow model import e.tsv z --rows 0
try furrow model import e.tsv z --attribute x
printf '0\t1\n' >short.tsv
try furrow model import short.tsv z
printf '0\t1\t0.5\n0\tx\t1\n' >bad.tsv
try furrow model import bad.tsv z
ls -A | grep -v '\.'
echo "---- rows without elements"
printf '0\t1\t0.5\n2\t4\t2\n' >gap.tsv
furrow model import -q gap.tsv gap --format ColIdValueText
furrow model info gap | grep -i 'rows'
furrow model dump gap | cmp - gap.tsv && echo "the same"
furrow model import -q gap.tsv columns --format TextColumn --rows 4 >/dev/null && cat columns/0
furrow model import -q gap.tsv saved --format TextColumn --rows 4 --saved-rows 0,2
cat saved/0
furrow model import -q gap.tsv first --saved-rows :2 --format RowIdColIdValueText
cat first/0
: >empty.tsv
furrow model import -q empty.tsv empty --rows 3 --cols 5
furrow model dump empty
try furrow model import empty.tsv z
try furrow model import gap.tsv z --saved-rows 0:
try furrow model import gap.tsv z --saved-rows x
try furrow model import gap.tsv z --saved-rows 0,5 --rows 4
try furrow model import gap.tsv z --saved-rows 0,1 --rows 2
echo "---- where it would destroy what it reads"
try furrow model export e e/0 --to npy --force
try furrow model export e ok.npy --ids e/0 --force
cp gap.tsv e/gap.tsv
try furrow model import e/gap.tsv e --force
furrow model dump e
echo "---- what it says"
printf '0\t9223372036854775806\t1\n' >far.tsv
furrow model import -q far.tsv far && furrow model dump far
printf '0\t9223372036854775807\t1\n' >farther.tsv
try furrow model import farther.tsv z
furrow model import -q farther.tsv farther --hash 2 && furrow model dump farther
printf '0\t1\t2\t3\n' >four.tsv
try furrow model import four.tsv z
head -c 100 x.npy >cut.npy
try furrow model import cut.npy z
for ending in npy npz fvecs safetensors tsv; do try furrow model import "nothing.$ending" z; done
try furrow model import e.tsv z --memory 16
printf '\002\000\000\000\002\000\000\000\000\000\200\077\000\000\200\077\000\000\200\077\000\000\000\117' >large.fbin
try furrow model import large.fbin z --row-type T_INT_DENSE
furrow model export -q e t.npy
# the first column is the id, the others are values
printf '3,0.5\n7,-2\n' >first.txt
furrow model import -q first.txt first.w --by column --format ColIdValueText >/dev/null
furrow model dump first.w
furrow model import -q first.txt first.r --by row >/dev/null
furrow model dump first.r
try furrow model export first.w again.txt
printf '0 1 2\n1 1\n' >ragged.txt
try furrow model import ragged.txt ragged
