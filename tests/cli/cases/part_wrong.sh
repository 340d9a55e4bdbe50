for part in 2/2 0/0 x 1 /2 1/ -1/2 1/2/3 0/4294967296 99999999999999999/2; do
  try furrow rows dump --part $part small.libsvm
done
