# hints name what is wrong, whichever way rows are read; rows that a reader would refuse are noted when they are written
printf '1 4294967296:1\n' >large.libsvm
printf '1 0:5000000000\n' >zero.libsvm
for api in parser iter; do
  try furrow rows dump --api $api large.libsvm
  try furrow rows dump --api $api 'zero.libsvm?indexing_mode=1'
  furrow rows dump --api $api 'large.libsvm?indexing_mode=1'
done
printf '1:0.5\n0 1:1\n' >mixed.libsvm # the second row has no weight, which shows that the first number is a label
furrow rows convert mixed.libsvm all.libsvm | sed -n '/^rows/p'
cat all.libsvm
try furrow rows dump all.libsvm
furrow rows dump 'all.libsvm?has_label=yes'
