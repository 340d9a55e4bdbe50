# a signal while vectors are added leaves nothing behind: the second half of them comes after it
awk 'BEGIN { for (i = 0; i < 100; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
furrow index build --train v.fvecs --out trained.index --nlist 4 --m 2 --nbits 4 >/dev/null
cp trained.index same.index
mkfifo pipe
for what in "build --train v.fvecs --nlist 4 --m 2 --nbits 4 --out a.index" "add trained.index" "add trained.index --out b.index"; do
  furrow index $what --base - --kind fvecs <pipe &
  exec 8>pipe
  for ((i = 0; i < 200; i++)); do cat v.fvecs; done >&8 # more than a pipe holds: at the end it has read most of them
  kill -TERM $!
  wait $!
  echo "exit $?"
  exec 8>&-
done
ls -A | grep -E 'a.index|b.index|furrow-'
cmp trained.index same.index
