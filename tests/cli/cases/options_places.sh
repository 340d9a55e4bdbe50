# every way to write the same
furrow rows dump --index u64 --format csv 'named.csv?label_column=0' --quiet | tee first
furrow rows dump 'named.csv?label_column=0' --format=csv --index=u64 -q | cmp - first
furrow rows dump -q --format csv --index=u64 -- 'named.csv?label_column=0' | cmp - first
furrow rows dump '-?label_column=0&format=csv' <named.csv | cmp - first
cp small.libsvm ./--odd
furrow rows dump --head 1 -- --odd
furrow rows dump --chunk 64KiB --head 1 small.libsvm
furrow rows dump --head 0 small.libsvm
