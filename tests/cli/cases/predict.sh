# scores of rows: lines, JSON, floats; what a probability and a label are follows from the output of the graph
awk 'BEGIN { r = 5; for (i = 0; i < 400; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; print (a % 3 ? 0 : 1), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
furrow train -q --defaults angel --model lr --train t.libsvm --out lr --epochs 20
furrow train -q --defaults angel --model svm --train t.libsvm --out svm --epochs 20
furrow train -q --defaults angel --model linear --train t.libsvm --out linear
awk '{ split($2, a, ":"); $1 = a[1] % 3; print }' t.libsvm >classes.libsvm
furrow train -q --defaults angel --model softmax --classes 3 --train classes.libsvm --out softmax
head -n 5 t.libsvm | furrow predict --model lr --data - | awk -F, '{ print $1, NF, $4 }'
near() { awk 'function off(a, b) { return a > b ? a - b : b - a } '"$1"; }
furrow predict --model lr --data t.libsvm | near 'BEGIN { FS = "," } off($3, 1 / (1 + exp(-$2))) > 2e-6 || $4 != ($2 > 0 ? 1 : -1) { print "lr:", $0 } END { print "lr", NR }'
furrow predict --model svm --data t.libsvm | near 'BEGIN { FS = "," } $4 != ($2 > 0 ? 1 : -1) || ($3 > 0.5) != ($2 > 0) { print "svm:", $0 } END { print "svm", NR }'
furrow predict --model linear --data t.libsvm | near 'BEGIN { FS = "," } $3 != 0 || $4 != 0 || off($2, $1) > 0.45 { print "linear:", $0 } END { print "linear", NR }'
furrow predict --model softmax --data classes.libsvm | near 'BEGIN { FS = "," } $4 != $1 || $3 < 0.5 { print "softmax:", $0 } END { print "softmax", NR }'
# ids: what a line begins with, or its place
awk '{ $1 = NR * 1000; print }' t.libsvm >ids.libsvm
furrow predict --model lr --data ids.libsvm | awk -F, 'NR < 3 { print $1 }'
furrow predict --model lr --data t.libsvm --sid row | awk -F, 'NR < 3 { print $1 }'
# the same figures as JSON, as floats, by one thread, of features that the model does not have
furrow predict --model lr --data t.libsvm >lines
furrow predict --model lr --data t.libsvm --json >json
head -n 1 json | is_json
head -n 1 json | grep -o '"[a-z]*":' | tr '\n' ' ' && echo
tr -d '{}"a-z' <json | tr ',' ' ' | tr -d : | paste -d ' ' - lines | near '{ split($5, l, ","); if (off($2, l[2]) > 1e-6 * (1 + off($2, 0)) || off($3, l[3]) > 1e-6) print "json:", $0 } END { print "json", NR }'
furrow predict --model lr --data t.libsvm --threads 1 | cmp - lines
furrow predict --model lr --data t.libsvm --scores s.fvecs
wc -c <s.fvecs | tr -d ' '
try furrow predict --model lr --data t.libsvm --scores s.fvecs
furrow predict --model lr --data t.libsvm --scores s.fvecs --force
printf '1 1:1\n1 1:1 90:1\n' | furrow predict --model lr --data - | awk -F, '{ print $2 }' | uniq | wc -l | tr -d ' '
# other formats of the same rows, and a model without its graph
sed 's/:1//g' t.libsvm | awk '{ print $1, $2 - 1, $3 - 1 }' >t.dummy
furrow predict --model lr --data t.dummy --format dummy | cmp - lines
furrow predict --model lr --data 't.dummy?format=dummy' | cmp - lines
mkdir bare && cp -r lr/input_weight lr/input_bias bare
try furrow predict --model bare --data t.libsvm
furrow predict --model bare --data t.libsvm --algorithm lr | cmp - lines
awk 'BEGIN { r = 3; for (i = 0; i < 300; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 9 - 4; b = int(r / 64) % 9 - 4; print (a > b ? 1 : 0), a, b } }' >t.dense
tr ' ' , <t.dense >t.csv
awk '{ print $1, "1:" $2, "2:" $3 }' t.dense >d.libsvm
furrow train -q --defaults angel --model dnn --input-width 6 --fc 4 --train t.dense --format dense --range 2 --out dense --init-input 0.3
furrow train -q --defaults angel --model dnn --input-width 6 --fc 4 --train d.libsvm --range 2 --out sparse --init-input 0.3
for model in dense sparse; do
  furrow predict --model $model --data t.dense --format dense >from_dense
  furrow predict --model $model --data 't.csv?label_column=0' --format csv | cmp - from_dense
  furrow predict --model $model --data d.libsvm --format libsvm | cmp - from_dense
  awk -F, '{ right += ($1 > 0) == ($4 > 0) } END { print (right > 0.95 * NR ? "learned" : right) }' from_dense
done
printf '0.7 1:1\n-16777215 1:1\n2.5e-7 1:1\n3e6 1:1\n' | furrow predict --model lr --data - | cut -d, -f1
# skipped text and skipped rows
printf '1 1:1\n0 2:1 word\n1 x:1\n' >notes.libsvm
furrow predict --model lr --data notes.libsvm --on-bad skip | wc -l | tr -d ' '
furrow eval --model lr --data notes.libsvm --on-bad skip | awk '$1 == "rows"'
furrow train --defaults angel --model lr --train notes.libsvm --valid t.libsvm --on-bad skip --out notes >/dev/null
furrow train --defaults angel --model lr --train t.libsvm --valid notes.libsvm --on-bad skip --out streamed --stream >/dev/null
furrow predict -q --model lr --data notes.libsvm --on-bad skip | wc -l | tr -d ' '
# small numbers keep their digits
mkdir tiny
printf '%s\n' '0 0 2.5e-8' '0 1 -0.00009' '0 2 0.00025' | tr ' ' '\t' >m.tsv
furrow model import -q m.tsv tiny/input_weight --row-type T_FLOAT_DENSE >/dev/null
printf '0\t0\t0\n' >b.tsv
furrow model import -q b.tsv tiny/input_bias --row-type T_FLOAT_DENSE >/dev/null
printf '1 1:1\n2 2:1\n3 3:1\n4\n' >tiny.libsvm
furrow predict --model tiny --algorithm linear --data tiny.libsvm
furrow predict --model tiny --algorithm linear --data tiny.libsvm --contributions
# refused
try furrow predict --data t.libsvm
try furrow predict --model lr
try furrow predict --model missing --data t.libsvm
try furrow predict --model lr --data missing.libsvm
try furrow predict --model bare --algorithm fm --data t.libsvm
furrow predict --model lr --data t.dummy >found # bare indices count from 0, whatever the model's data did
furrow predict --model lr --data t.dummy --format dummy | cmp - found
try furrow predict --model lr --data t.libsvm --scores s.txt
printf '20000001 1:1\n' | try furrow predict --model lr --data -
printf '16777216 1:1\n' | try furrow predict --model lr --data -
printf '1 1:1\n1 1:nan\n' >nan.libsvm
try furrow predict --model lr --data nan.libsvm
try furrow predict --model lr --data nan.libsvm --json
try furrow predict --model lr --data nan.libsvm --scores nan.npy
try furrow eval --model lr --data nan.libsvm
try furrow predict --model lr --data t.libsvm -D has-label=no
try furrow predict --model lr --data t.libsvm -D index-base=auto
sed 's/^[^ ]* //' t.libsvm >unlabelled.libsvm
try furrow predict --model lr --data unlabelled.libsvm
furrow predict --model lr --data t.libsvm | cut -d, -f2- >found
furrow predict --model lr --data unlabelled.libsvm -D has-label=no | cut -d, -f2- | cmp - found
furrow predict --model lr --data 'unlabelled.libsvm?has_label=no' | cut -d, -f2- | cmp - found # as the hint says
furrow predict --model dense --data 't.csv?label_column=0' --format csv -D has-label=no | wc -l | tr -d ' '
(ulimit -f 1 && try furrow predict --model lr --data t.libsvm --scores big.npy 2>&1) | cat
ls -A | grep -e nan.npy -e big -e tmp
furrow train -q --defaults angel --model pnn --fields 2 --fc 4 --rank 2 --train t.libsvm --out pnn --epochs 1
sed '7s/ .*/ 1:1/' t.libsvm >short.libsvm
try furrow predict --model pnn --data short.libsvm
try furrow eval --model pnn --data short.libsvm
: | furrow predict --model lr --data -
