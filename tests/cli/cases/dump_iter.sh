# through the block iterator, in memory and from a cache
furrow rows dump small.libsvm >one
furrow rows dump --api iter small.libsvm | cmp - one
furrow rows dump 'small.libsvm#cache' | cmp - one
ls cache
furrow rows dump 'small.libsvm#cache' | cmp - one
furrow rows info 'small.libsvm#cache' | sed -n '/^rows/,/^columns/p'
furrow rows dump --api iter 'named.csv?label_column=0'
sleep 0.01
echo '1 1:1' >>small.libsvm
try furrow rows dump 'small.libsvm#cache'
