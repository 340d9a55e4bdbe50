# a reader that leaves at once: exit 0 and not a word, whatever the command prints
seq 0 200000 | awk '{ print "0\t" $1 "\t" $1 / 8 }' >big.tsv
furrow model import -q big.tsv big >/dev/null
awk 'BEGIN { for (i = 0; i < 4000; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
furrow index build -q --base v.fvecs --out v.index --nlist 1000 --m 0 >/dev/null
quits() {
  "$@" 2>err | head -n 1 >/dev/null
  echo "${PIPESTATUS[0]} $2 $3 $(cat err)"
}
quits furrow model dump big
quits furrow model export big - --to tsv
quits furrow index map v.index
quits furrow index search v.index v.fvecs -k 50 --nprobe 20
quits furrow model info big --json
quits furrow train --help
quits furrow complete -- ''
