# the rows before the bad one are printed, then its place
try furrow rows dump bad.libsvm
try furrow rows dump --threads 1 - <bad.libsvm
try furrow rows info bad.libsvm
try furrow rows dump --head 1 --chunk 8 bad.libsvm
