# a log of furrow serve with changes that are not in the index file: no command replaces the index, its names or the log
awk 'BEGIN { for (i = 0; i < 100; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
build=(furrow index build --train v.fvecs --base v.fvecs --nlist 4 --m 2 --nbits 4 -q)
"${build[@]}" --out i.index >/dev/null
cp i.index other.index
seq 100 | sed 's/^/name/' >names.txt
furrow index names other.index --set names.txt >/dev/null
for ending in log log.next; do
  { printf FURROWLG; head -c 60 /dev/zero; } >i.index.$ending
  cksum i.index i.index.$ending >before
  echo "- $ending"
  try furrow index names i.index --set names.txt
  try furrow index names i.index --drop
  try "${build[@]}" --out i.index --force
  try furrow index convert other.index i.index --force
  try furrow index add i.index --base v.fvecs
  try furrow index remove i.index --ids 1
  try furrow index merge i.index other.index --out i.index --force --repeated-ids
  ls i.index*
  cksum i.index i.index.$ending | diff before -
  rm i.index.$ending
done 2>&1 | sed "s|$PWD/||"
# one without changes, and a file that is not a log, are not in the way
{ printf FURROWLG; head -c 40 /dev/zero; } >i.index.log
try furrow index names i.index --set names.txt
{ printf 'my log'; head -c 60 /dev/zero; } >i.index.log
try "${build[@]}" --out i.index --force >/dev/null
