# what training tells and writes beside the model; times and last digits are left out
awk 'BEGIN { r = 5; for (i = 0; i < 2000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 30; print (a % 3 ? 0 : 1), a + 1 ":1" } }' >t.libsvm
furrow train --defaults angel --model lr --train t.libsvm --out lr --epochs 3 --history h.csv --curve c.svg >table
awk '{ print $1, NF }' table
furrow train --defaults angel --model lr --train t.libsvm --out same --epochs 3 --threads 1 --stream --json --history h.json >report
is_json <report
grep -o '"[a-z_]*":' report | sort | uniq -c | awk '{ print $1, $2 }'
is_json <h.json
diff -r lr same && echo "the same model"
awk -F, '{ print $1, NF, $4, $5, $6 }' h.csv
head -c 4 c.svg && echo
# other formats, settings by Angel's names, files of several servers
furrow train -q --defaults angel --model fm --rank 2 --train t.libsvm --out fm -D ml.epoch.num=1 -D ml.embedding.matrix.output.format=BinaryColumn \
  -D ml.simpleinputlayer.matrix.output.format=ColIdValueBinaryRow --servers 2 --part-size 20
furrow model info fm --no-stats | awk 'NR > 3 { print $1, $3, $7, $8, $9, $10 }'
furrow model verify fm | tail -n 1
# features that the data skips: columns of a dense model, absent from a sparse one
printf '1 3:1\n0 9:1\n1 3:1\n0 9:1\n' >gaps.libsvm
for type in T_FLOAT_DENSE T_FLOAT_SPARSE T_DOUBLE_SPARSE_LONGKEY; do
  furrow train -q --defaults angel --model lr --train gaps.libsvm --valid-ratio 0 --epochs 1 --out gaps --model-type $type --force
  furrow model info gaps --no-stats | awk '$1 == "input_weight" { print $4, $7, $11 }'
done
# so far apart that a dense row would be nothing but zeros
printf '1 3:1\n0 9000000:1\n' | furrow train -q --defaults angel --model lr --train - --valid-ratio 0 --epochs 1 --out far
furrow model info far --no-stats | awk '$1 == "input_weight" { print $4, $7, $11 }'
# indices of 64 bits
printf '1 3:1\n0 9000000000000:1\n' >long.libsvm
furrow train -q --defaults angel --model lr --train long.libsvm --valid-ratio 0 --epochs 1 --out long --model-type T_FLOAT_SPARSE_LONGKEY
furrow predict --model long --data long.libsvm | awk -F, '{ print $1, $4 }'
# best epoch: a rate that is much too high makes later epochs worse
furrow train --defaults angel --model lr --train t.libsvm --out best --epochs 9 --patience 2 --keep-best --metric auc -q --json | grep -c '"epoch":' | awk '{ print ($1 < 9 ? "stopped early" : "ran to its end") }'
awk '{ $1 = 1 - $1; print }' t.libsvm >turned.libsvm
for keep in '' --keep-best; do
  furrow train --defaults angel --model lr --train t.libsvm --valid turned.libsvm --out last --epochs 3 --force $keep | grep 'best epoch'
done
