# what a model is made of
mkdir -p deepfm
printf '0\t0\t1\n0\t1\t0\n0\t6\t-2.5\n' >w.tsv
furrow model import -q w.tsv deepfm/input_weight --format ColIdValueTextRow --row-type T_FLOAT_SPARSE --cols 10 --part-cols 5 >/dev/null
printf '0\t2\t1\n1\t2\t2\n0\t5\tNaN\n1\t5\t-1\n' >e.tsv
furrow model import -q e.tsv deepfm/e_embedding --format TextColumn --row-type T_DOUBLE_SPARSE_LONGKEY --matrix-id 2 \
  --attribute matrix.hogwild=true --sep ' ' >/dev/null
echo '{"layers" : [ {"name" : "input", "type" : "FCLayer"} ]}' >deepfm/graph.json
furrow model info deepfm
echo "---- one"
furrow model info deepfm --matrix e_embedding
echo "---- another, with partitions"
furrow model info deepfm/input_weight --partitions
echo "---- metadata alone"
rm deepfm/input_weight/0
furrow model info deepfm --no-stats
try furrow model info deepfm
furrow model info deepfm --no-stats --json --partitions | is_json
furrow model info deepfm --matrix e_embedding --json
