# Long sparse rows: smaller steps where fc layers alone combine the vectors of features.
for length in 8 32; do
  awk -v n=$length 'BEGIN { r = 3; for (i = 0; i < 300; i++) { printf "%d", i % 2; for (c = 0; c < n; c++) { r = r * 16807 % 2147483647
    printf " %d:1", c * 20 + r % 20 + 1 } print "" } }' >rows.libsvm
  for model in wide_and_deep deepfm; do
    furrow train --model $model --train rows.libsvm --out model --epochs 1 --force | awk -v m=$model -v n=$length '$1 == 1 { print n, m, $2; exit }'
  done
done
