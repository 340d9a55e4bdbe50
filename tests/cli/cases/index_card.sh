# Vectors around 8 centres, moved by `shift`.
vectors() {
  awk -v n="$1" -v shift="$2" -v seed="$3" 'BEGIN { for (i = 0; i < n; i++) { c = i % 8; for (j = 0; j < 6; j++)
    printf "%.4f%s", shift + 10 * ((c * (j + 3) * 7) % 8) / 8 + (i * 7919 + j * 10477 + seed * 31) % 1009 / 1009, j < 5 ? "," : "\n" } }'
}
vectors 1200 0 1 >base.csv
vectors 300 0 2 >same.csv
vectors 300 20 3 >moved.csv
try() {
  "$@"
  echo "exit $?"
}
furrow index build --base base.csv --out i.index --factory IVF8,Flat --recall 0.9 -q >/dev/null
furrow index build --base base.csv --out again.index --factory IVF8,Flat --recall 0.9 -q --threads 3 >/dev/null
cmp i.index.card again.index.card && head -1 i.index.card
furrow index info i.index | sed -n 's/[0-9]*\.[0-9][0-9]*/F/g;/^card/,/stale/p'
furrow index info --json i.index | grep -A3 '"card"'
echo "---- more of the same; the card goes with its index"
furrow index add i.index --base same.csv --out more.index -q >/dev/null
try furrow index verify more.index
furrow index remove more.index --ids 0:10 >/dev/null
furrow index convert more.index copy.index -q >/dev/null
furrow index info copy.index | grep -E 'since|stale'
furrow index merge i.index more.index --shift --out both.index -q >/dev/null
furrow index info both.index | grep -E 'built|since'
echo "---- other data"
furrow index add i.index --base moved.csv --out moved.index 2>&1 >/dev/null | sed 's/[0-9]*\.[0-9]/F/'
try furrow index verify moved.index | sed 's/[0-9]*\.[0-9]/F/'
furrow index verify --json moved.index | grep '"stale"'
furrow index info moved.index | grep 'stale  '
echo "---- another program changed the index, or the card"
cp moved.index.card more.index.card
try furrow index verify more.index
furrow index info more.index | grep -A1 ^card
furrow index add more.index --base same.csv -q 2>&1 >/dev/null
ls more.index*
sed -i s/1200/1201/ moved.index.card
try furrow index verify -q moved.index
furrow index search moved.index base.csv -k 1 -q | head -2 | cut -f 1
try furrow index build --base base.csv --out i.index --factory IVF8,Flat -q
echo notes >new.index.card
try furrow index build --base base.csv --out new.index --factory IVF8,Flat -q --force
echo "---- a kind that is never stale"
furrow index build --base base.csv --out f.index --factory Flat -q >/dev/null
furrow index add f.index --base moved.csv -q >/dev/null
furrow index info f.index | sed -n '/^card/,/stale/p'
furrow index verify f.index
echo "---- a recall that would not be measured"
try furrow index build --base base.csv --out s.index --factory IVF8,Flat --recall 0.9 --shards
try furrow index build --train base.csv --out s.index --factory IVF8,Flat --recall 0.9
