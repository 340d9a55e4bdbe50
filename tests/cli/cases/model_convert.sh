# what is not asked for stays as it is
mkdir lr
printf '0\t0\t0.1\n0\t3\t-2.5\n1\t1\t1e10\n1\t7\t-Infinity\n2\t2\t-0\n' >w.tsv
furrow model import -q w.tsv lr/input_weight --format ColIdValueTextRow --row-type T_FLOAT_SPARSE --part-cols 3 --servers 2 --sep '|' >/dev/null
printf '0\t0\t7\n' >b.tsv
furrow model import -q b.tsv lr/input_bias --row-type T_FLOAT_DENSE --meta-name meta >/dev/null
echo '{}' >lr/graph.json
furrow model convert lr copy
diff -r lr copy && echo "the same"
try furrow model convert lr copy
furrow model convert lr copy --force --json
echo "---- there and back"
furrow model convert -q lr/input_weight rows --format RowIdColIdValueBinaryRowFormat --part-cols 100 --parts-per-file 1 >/dev/null
furrow model info rows --no-stats | grep -E '^(format|partitions|files|bytes)'
furrow model convert -q rows back --format ColIdValueTextRow --part-cols 3 --servers 2 --parts-per-file 5 --sep '|' >/dev/null
diff -r lr/input_weight back && echo "the same"
echo "---- separator"
furrow model convert -q lr/input_weight tabs --sep '\t' >/dev/null
cat tabs/*[0-9]
furrow model convert -q lr/input_weight spaces -D text.format.filed.sep=' ' --in-sep '|' >/dev/null
head -n 1 spaces/0
echo "---- some of it"
furrow model convert lr some --matrix input_weight --rows 0:2 --cols 0:3
furrow model dump some
echo "---- row type"
furrow model convert -q lr/input_weight dense --row-type T_DOUBLE_DENSE --format ValueTextRow >/dev/null
furrow model dump dense --rows 1
furrow model convert -q lr/input_weight hash --hash 4 >/dev/null
furrow model diff -q lr/input_weight hash && furrow model info hash --no-stats | grep ^partitions
echo "---- what it cannot do"
try furrow model convert lr x --format Textcolum
try furrow model convert lr x --row-type T_FLAOT_DENSE
try furrow model convert lr x --row-type T_INT_DENSE
try furrow model convert lr x --servers 0
try furrow model convert lr x --format TextColumn -D OUT_FORMAT_CLASS=ValueTextRowFormat
try furrow model convert lr lr --force
try furrow model convert lr nowhere/x
try furrow model convert lr x --hash 3 --part-cols 2
try furrow model convert lr x --meta-name ../../x
try furrow model convert lr x --sep e
try furrow model convert lr x --sep ''
mkdir home && echo "notes" >home/meta && try furrow model convert lr home --force
touch copy/thesis.tex && try furrow model convert lr copy --force
try furrow model convert lr x --format TextColumn --memory 1
ls -A | grep -v "\."
