# ids at the ends of their range, and direct maps of merged indexes
printf '\4\0\0\0\0\0\200\77\0\0\0\0\0\0\200\77\0\0\0\0' >one.fvecs # 1 0 1 0
add() { # ID
  echo "$1" >id.txt
  cp small.index a.index
  try furrow index add a.index --base one.fvecs --ids id.txt -q 2>&1 | grep -aE "^furrow|^exit|^added"
}
echo "-1 means that there is none"
add -1
add -2
add 9223372036854775807
furrow index search a.index one.fvecs -k 2
echo "a range without an end has the last id, too"
furrow index search a.index one.fvecs -k 2 --filter-ids 7:
furrow index remove a.index --ids 7: --out b.index | sed -n '/removed/p'
echo "merged indexes have no direct map"
furrow index convert small.index hash.index --direct-map hash -q >/dev/null
furrow index merge hash.index hash.index --shift --out c.index
furrow index info c.index | sed -n '/direct map/p'
furrow index merge -q hash.index --out d.index
furrow index merge small.index --out e.index
