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
  cat v.fvecs >&8
  tries=0 # until it has read them and waits for more; not every kernel says so
  until grep -qE "pipe_read|poll" /proc/$!/wchan 2>/dev/null || [ $((tries++)) -ge 300 ]; do sleep 0.01; done
  kill -TERM $!
  wait $!
  echo "exit $?"
  exec 8>&-
done
ls -A | grep -E 'a.index|b.index|furrow-'
cmp trained.index same.index
