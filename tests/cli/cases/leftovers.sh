# what SIGKILL leaves is removed by the next command that writes there; what belongs to a live process stays
mkdir out
for ((i = 0; i < 200; i++)); do sed 1d small.libsvm; done >part.libsvm
for ((i = 0; i < 40; i++)); do cat part.libsvm; done >some.libsvm
seq 0 60000 | awk '{ print "0\t" $1 "\t" $1 / 8 }' >big.tsv
furrow model import -q big.tsv big --format RowIdColIdValueTextRow >/dev/null
hidden() {
  compgen -G 'out/.*furrow-*' | wc -l
}
# killed COMMAND…: at some moment after its temporary is there, eight times, or until one was left
killed() {
  local i process tries before found=0
  for ((i = 0; i < 8 || (found == 0 && i < 60); i++)); do
    before=$(compgen -G 'out/.*furrow-*')
    "$@" >/dev/null 2>&1 &
    process=$!
    tries=0
    while [ "$(compgen -G 'out/.*furrow-*')" = "$before" ] && kill -0 $process 2>/dev/null; do
      [ $((tries++)) -lt 10000 ] || break
    done
    [ $i -lt 4 ] || sleep "0.00$((RANDOM % 10))"
    kill -KILL $process 2>/dev/null
    { wait $process; } 2>/dev/null
    found=$((found + $(hidden)))
  done
  [ $found -gt 0 ] || echo "$2 $3: nothing was ever left, so nothing was tried"
}
killed furrow rows convert some.libsvm out/rows.csv --columns 10 --force
killed furrow rows convert some.libsvm out/rows --to libsvm --force
killed furrow rows info 'some.libsvm#out/cache'
killed furrow rows split some.libsvm --fractions 0.5,0.5 --out out/ --force -q
killed furrow model convert big out/copy --format ColIdValueTextRow --threads 1 --force
killed furrow model export big out/w.npz --threads 1 --force
furrow rows convert some.libsvm out/last --to libsvm >/dev/null
hidden
# of a model that is trained in place, which the process has locked itself
train=(furrow train -q --model fm --train part.libsvm --index-base 0 --epochs 1 --out out/fm)
"${train[@]}" >/dev/null
killed "${train[@]}" --load out/fm --force
"${train[@]}" --load out/fm --force >/dev/null
hidden
# one that lives
mkfifo pipe
furrow rows convert pipe out/slow --format libsvm --to libsvm --chunk 64KiB >/dev/null &
exec 8>pipe
cat some.libsvm >&8
until [ "$(hidden)" -gt 0 ]; do sleep 0.01; done
furrow rows convert some.libsvm out/last --to libsvm --force >/dev/null
hidden
exec 8>&-
wait
cmp out/slow out/last
hidden
