# like diff: 0 for the same, 1 for different
mkdir a b
printf '0\t0\t1\n0\t1\t2\n1\t5\t3\n' >x.tsv
printf '0\t0\t1\n0\t1\t2.5\n1\t4\t1e-3\n1\t5\tNaN\n' >y.tsv
furrow model import -q x.tsv a/w --row-type T_FLOAT_SPARSE >/dev/null
furrow model import -q y.tsv b/w --row-type T_DOUBLE_SPARSE --format ColIdValueBinaryRow >/dev/null
try furrow model diff a/w a/w
echo "----"
try furrow model diff a b --top 2
echo "---- models"
furrow model import -q x.tsv a/v >/dev/null
furrow model import -q x.tsv b/v --format RowIdColIdValueBinaryRow >/dev/null
furrow model import -q x.tsv b/u >/dev/null
try furrow model diff a b --top 0
echo "---- json"
furrow model diff a b --json
echo "exit $?"
echo "---- one matrix of both, and the exit code alone"
try furrow model diff a b --matrix v -q
try furrow model diff a b --matrix w -q
try furrow model diff a/w b
try furrow model diff a/w b --matrix w -q
echo "---- tolerance"
printf '0\t0\t1\n0\t1\t2.25\n1\t5\t3\n' >z.tsv
furrow model import -q z.tsv c >/dev/null
try furrow model diff -q a/w c --tolerance 0.25
try furrow model diff -q a/w c --tolerance 0.2
try furrow model diff -q a/w c --tolerance -1
try furrow model diff a/w
try furrow model diff a/w nothing
