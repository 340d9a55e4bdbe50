# files for older releases of Faiss: older layouts, which come back as they were, or the part that is too new
i=0
while [ $i -lt 300 ]; do
  echo "$i $((i * 37 % 101)) $((i * 53 % 97)) $((i * 71 % 89)) $((i * 11 % 83))"
  i=$((i + 1))
done | awk '{ for (r = 0; r < 4; r++) print r "\t" $1 "\t" $(r + 2) / 100 }' >e.tsv
mkdir fm
furrow model import e.tsv fm/embedding --format TextColumn --row-type T_FLOAT_DENSE >/dev/null
furrow index build --from-model fm/embedding --out items.index --nlist 4 --m 2 --nbits 8 -q --compat 1.7.3 >/dev/null
for release in 1.0 1.2.1 1.5.0 1.6.3 1.7 1.15.0; do
  furrow index convert items.index old.index --compat $release --force | grep bytes
  head -c 4 old.index && echo " $release"
  furrow index convert old.index back.index --force >/dev/null
  cmp items.index back.index
done
furrow index verify old.index
# what cannot be: nothing is written
try furrow index convert small.index no.index --compat 1.6.1
try furrow index convert transforms.index no.index --compat 1.7.3
try furrow index convert small.index no.index --compat 1.7.9
try furrow index build --from-model fm/embedding --out no.index --nlist 4 --m 2 --nbits 4 -q --compat 1.6.1
try furrow index build --from-model fm/embedding --out no.index --nlist 4 --m 2 -q --compat latest
ls no.index 2>/dev/null
# a direct map can be left out, or become one that is read
furrow index convert items.index map.index --direct-map hash >/dev/null
furrow index info map.index | grep 'direct map'
try furrow index convert map.index no.index --compat 1.5.0
furrow index convert map.index none.index --compat 1.5.0 --direct-map none >/dev/null
cmp none.index items.index
furrow index convert map.index array.index --compat 1.0 --direct-map array >/dev/null
furrow index info array.index | grep 'direct map'
# the other ways to a file
furrow index convert items.index a.index >/dev/null
furrow index remove a.index --ids 0:100 --compat 1.0 -q >/dev/null
head -c 4 a.index && echo " removed"
furrow index merge items.index items.index --shift --out b.index --compat 1.0 >/dev/null
head -c 4 b.index && echo " merged"
furrow model export fm/embedding more.fvecs >/dev/null
furrow index add items.index --base more.fvecs --out c.index --compat 1.0 -q >/dev/null
head -c 4 c.index && echo " added"
furrow index convert b.index b2.index >/dev/null
furrow index convert c.index c2.index >/dev/null
cmp b2.index c2.index
try furrow index add small.index --base more.fvecs --out no.index --compat 1.0 -q
true
