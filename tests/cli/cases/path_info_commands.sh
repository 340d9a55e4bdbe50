# every command that furrow info names can be run; ROWS are those of a file; those with another word in capitals want one more file
awk 'BEGIN { for (i = 0; i < 200; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
mkdir model && furrow model import -q v.tsv model/vectors --row-type T_FLOAT_DENSE >/dev/null
for kind in fvecs npy fbin npz safetensors; do furrow model export -q model/vectors "the $kind.$kind" >/dev/null; done
furrow train -q --model lr --train small.libsvm --index-base 0 --out lr.model --epochs 2
furrow train -q --model gbdt --train small.libsvm --index-base 0 --out trees.model --trees 2
furrow rows convert -q small.libsvm small.cache >/dev/null
for ((i = 0; i < 20; i++)); do sed 1d small.libsvm; done >"it's.libsvm"
printf 'a,b,y\n1,2,3\nnan,1,5\n3,1,3\n3,5,5\n2,5,5\n1,6,3\n' >nan.csv
printf 'a,b,y\n1,2,3\n4,1,nan\n3,1,3\n3,5,5\n2,5,5\n1,6,3\n' >nan_label.csv
mkdir folder && cp "it's.libsvm" folder
for path in "it's.libsvm" small.libffm named.csv numbers.dense implicit.dummy bad.libsvm folder small.cache model model/vectors small.index \
  "the fvecs.fvecs" "the npy.npy" "the fbin.fbin" "the npz.npz" "the safetensors.safetensors" lr.model lr.model/graph.json lr.model/furrow.json trees.model nan.csv nan_label.csv; do
  echo "== $path"
  furrow info "$path" 2>/dev/null | sed '1,/^Commands to try/d' >commands
  [ -s commands ] || echo "no commands"
  while read -r line; do
    line=${line//ROWS/small.libsvm}
    case $line in *[A-Z][A-Z][A-Z]*) continue ;; esac
    bash -o pipefail -c "$line" >out 2>&1 </dev/null
    code=$?
    echo "$code $line"
    [ $code = 0 ] || cat out
  done <commands
done
