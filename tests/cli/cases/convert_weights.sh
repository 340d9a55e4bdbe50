# csv gets a weight column when the first pass finds weights, or when it is told
sed 's/ qid:[0-9]*//' weights.libsvm >w.libsvm
furrow rows convert w.libsvm - --to csv --header
furrow rows convert - - --to csv --columns 5 --with-weight <w.libsvm
furrow rows convert small.libsvm - --to csv --columns 8 --with-weight
try furrow rows convert - - --to csv --columns 5 <w.libsvm
