# what is wrong is named with file and place
mkdir m
printf '0\t0\t1\n0\t1\t2.25\n0\t6\t-2.5\n' >w.tsv
furrow model import -q w.tsv m/good --format ColIdValueTextRow --row-type T_FLOAT_SPARSE --part-cols 3 --parts-per-file 1 >/dev/null
cp -r m/good m/bad
try furrow model verify m
sed 's/2.25/2x25/' m/good/0 >m/bad/0
try furrow model verify m
echo "---- quietly"
try furrow model verify m -q
echo "---- json"
furrow model verify m --json
echo "exit $?"
echo "---- a file that is missing"
rm m/bad/0
try furrow model verify m/bad
try furrow model verify m --matrix good
