try furrow rows dump nothing.libsvm
try furrow rows info 'small.libsvm;nothing.libsvm'
try furrow rows convert nothing.libsvm out.csv
try furrow rows split nothing.libsvm --out out/ --fractions 0.5,0.5
try furrow rows dump small.libsvm?indexing_mod=1
try furrow rows dump --format nonsense small.libsvm
ls out* 2>/dev/null
true
