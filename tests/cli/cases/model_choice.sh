# one matrix of several
mkdir lr
printf '0\t0\t1\n0\t1\t2\n' >w.tsv
furrow model import -q w.tsv lr/input_weight --matrix-id 1 >/dev/null
printf '0\t0\t7\n' >b.tsv
furrow model import -q b.tsv lr/input_bias >/dev/null
try furrow model dump lr
try furrow model dump lr --matrix input_wieght
try furrow model dump lr --matrix xyz
furrow model dump lr --matrix input_weight
furrow model dump lr/input_bias/
try furrow model dump lr/input_bias --matrix input_weight
try furrow model dump lr/input_weight --rows 7
try furrow model dump lr/input_weight --rows 1-3
try furrow model dump lr/input_weight --rows 3:1
try furrow model dump lr/input_weight --cols a:b
try furrow model dump lr/input_weight --parts 9:
try furrow model dump lr/input_weight --sep ''
try furrow model dump lr/input_weight --sep '\q'
try furrow model dump nothing
mkdir empty
try furrow model dump empty
try furrow model dump w.tsv
