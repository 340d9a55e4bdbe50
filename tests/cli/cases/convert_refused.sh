furrow rows convert small.libsvm there.csv >/dev/null
try furrow rows convert weights.libsvm there.csv
try furrow rows convert weights.libsvm there.libsvm.gz
try furrow rows convert small.libsvm -
try furrow rows convert small.libsvm - --to cache
try furrow rows convert small.libsvm - --to csv --json
try furrow rows convert - out.csv <small.libsvm
try furrow rows convert small.libsvm out.csv --columns 3
try furrow rows convert small.libsvm out.csv --delimiter ab
try furrow rows convert named.csv out.libsvm
try furrow rows convert weights.libsvm out.csv
try furrow rows convert bad.libsvm out.libsvm
try furrow rows convert small.libsvm out.libsvm --to libsmv
mkdir folder.csv
try furrow rows convert small.libsvm folder.csv --force
try furrow rows convert small.libsvm nowhere/out.csv 2>&1 | cut -d: -f1-2
furrow rows convert bad.libsvm there.csv --force --on-bad skip --quiet >/dev/null
head -n 1 there.csv
ls -A | grep -E 'out|furrow'
true
