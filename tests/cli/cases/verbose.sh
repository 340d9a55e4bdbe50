# what a command took, on stderr, also when it failed
furrow rows info -v small.libsvm 2>&1 >out | sed -E 's/[0-9]+\.[0-9]+/N/g; s/[a-z0-9]+ instructions/ISA instructions/'
furrow rows info small.libsvm | diff - out | grep -vE '^[<>] (seconds|MB)|^[0-9,c]+$|^---'
furrow rows info -qv missing 2>&1 | grep -c ' s of processors'
furrow index verify -q small.index
