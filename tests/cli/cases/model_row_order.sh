# rows that were saved in the order of a list, in a format without row ids
printf '0\t1\t1\n0\t5\t2\n2\t0\t10\n2\t1\t11\n2\t7\t12\n' >w.tsv
furrow model import -q w.tsv w --format ColIdValueText --row-type T_FLOAT_SPARSE --rows 3 --saved-rows 2,0 >/dev/null
cat w/0
try furrow model dump w
furrow model dump w --row-order 2,0
furrow model dump w --row-order 2,1,0 --rows 0
echo ---- refused
try furrow model dump w --row-order 2
try furrow model dump w --row-order 2,0,2
try furrow model dump w --row-order 2,0:
try furrow model dump w --row-order down
try furrow model dump w --row-order 0:1000000
echo ---- put into order
furrow model convert -q w sorted --in-row-order 2,0 >/dev/null
cat sorted/0
furrow model dump sorted
