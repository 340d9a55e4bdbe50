# what is damaged or unknown: what it looks like, which check failed, and the code of that error
: >empty
mkdir nothing
printf 'Some words,\nand then some more: these are no rows\n' >prose.txt
printf '1 3:0.5 9:oops\n' >one.libsvm
head -c 100 small.index >cut.index
printf 'IxLa____________________________' >other.index
furrow rows convert -q small.libsvm small.cache >/dev/null
head -c 60 small.cache >cut.cache
printf '\223NUMPY\1\0v\0{' >cut.npy
printf 'PK\3\4' >cut.npz
printf '\5\0\0\0\0\0\0\0{"a"}' >cut.safetensors
printf '\4\0\0\0\1\2' >cut.bvecs
printf '{"train": {"epoch": "many"}}' >wrong.json
printf '{"train": ' >cut.json
furrow train -q --model lr --train small.libsvm --out lr.model --index-base 0 --epochs 1 --checkpoint kept
head -c 120 kept/checkpoint >cut.checkpoint
printf '{"matrixId": ' >lr.model/input_weight/_meta
printf '\177ELF\2\1\1' >program
for path in missing missing/ - /dev/null empty nothing prose.txt bad.libsvm one.libsvm cut.index other.index cut.cache cut.npy cut.npz \
  cut.safetensors cut.bvecs wrong.json cut.json cut.checkpoint program l.data; do
  echo "== $path"
  try furrow info "$path" 2>&1
done
furrow info lr.model/input_weight 2>/dev/null
furrow info lr.model >/dev/null
