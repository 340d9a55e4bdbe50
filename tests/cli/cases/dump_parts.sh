# the parts are the whole, for any number of parts, threads and bytes a block
for i in 1 2 3 4 5 6 7 8 9; do sed 1d small.libsvm; done >many.libsvm
furrow rows dump many.libsvm >whole
wc -l <whole | tr -d ' '
for n in 2 3 7 50; do
  for ((k = 0; k < n; k++)); do furrow rows dump --part $k/$n many.libsvm; done | cmp - whole
done
for threads in 0 1 2 3; do
  for chunk in 1 16 100 1MiB; do furrow rows dump --threads $threads --chunk $chunk many.libsvm | cmp - whole; done
done
furrow rows dump --head 4 many.libsvm | cmp - <(head -n 4 whole)
