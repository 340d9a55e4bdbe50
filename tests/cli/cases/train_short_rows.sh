# rows with fewer features than slots: deep models of both precisions, any number of threads, scoring, and what is refused
awk 'BEGIN { r = 5; for (i = 0; i < 600; i++) { r = r * 16807 % 2147483647; n = 1 + int(r / 4096) % 4; s = ""; t = 0; for (k = 0; k < n; k++) { r = r * 16807 % 2147483647; f = 10 * k + int(r / 65536) % 10; s = s " " f + 1 ":1"; t += f } if (i % 50 == 7) { s = ""; t = 1 } print t % 2 s } }' >t.libsvm
fit() { # MODEL OPTIONS…
  model=$1
  shift
  furrow train -q --defaults angel --model "$model" --rank 3 --fc 6 --fields 4 --short-rows yes --range 41 --train t.libsvm --epochs 3 --lr 0.1 "$@"
}
# an absent feature is one that the model does not know: a row that is filled up with such scores the same
awk '{ n = NF - 1; s = $0; for (k = 0; n < 4; n++) s = s " " 90 + ++k ":1"; print s }' t.libsvm >filled.libsvm
for model in deepfm wide_and_deep pnn; do
  for type in T_FLOAT_DENSE T_DOUBLE_SPARSE; do
    fit "$model" --model-type "$type" --out "$model.$type" --threads 1
    fit "$model" --model-type "$type" --out again --threads 3 --force
    diff -r "$model.$type" again && echo "$model $type: same for any number of threads"
    furrow predict --model "$model.$type" --data t.libsvm >short.txt
    furrow predict --model "$model.$type" --data filled.libsvm >filled.txt
    cmp short.txt filled.txt && awk '{ seen[$0] } END { print (length(seen) > 100 ? "scores differ from row to row" : "too few scores") }' short.txt
  done
done
grep -h shortrows deepfm.T_FLOAT_DENSE/graph.json
# longer rows share the last slot, and rows of other lengths where the model was not told
printf '1 1:1 2:1 3:1 4:1 5:1\n' >long.libsvm
furrow predict --model deepfm.T_FLOAT_DENSE --data long.libsvm | wc -l | tr -d ' '
try furrow predict --model deepfm.T_FLOAT_DENSE --data long.libsvm -D short-rows=no
try furrow predict --model deepfm.T_FLOAT_DENSE --data t.libsvm -D short-rows=no
try furrow train -q --defaults angel --model pnn --fields 4 --train t.libsvm --out m
