# small inputs that would become large: refused, with the option that allows them
head -c 20000000 /dev/zero | tr '\0' 1 >line.libsvm
try furrow rows info --chunk 64KiB --max-line 1MiB line.libsvm
try furrow rows info --chunk 64KiB --max-line 32MiB line.libsvm 2>&1 | head -n 1
printf '1 4294967295:1\n0 1:1\n' >wide.libsvm
try furrow rows convert wide.libsvm wide.csv
ls wide.csv 2>&1 | sed 's/.*: //'
printf '1 3:1\n' >narrow.libsvm
furrow rows convert narrow.libsvm --columns 1000001 - --to csv | wc -c
# more lists than vectors end before anything is allocated
printf '\0\0\0\0\0\0\200\077' >v.f32
try timeout 20 furrow index build --base v.f32 --dim 2 --nlist 2147483647 --m 0 --out i -q
# limits of the limits
try furrow info --max-line 2GiB narrow.libsvm
try furrow rows dump --max-line 3GiB narrow.libsvm
try furrow rows dump --chunk 3GiB narrow.libsvm
try furrow rows dump --max-line 2147483647 --chunk 64KiB narrow.libsvm
