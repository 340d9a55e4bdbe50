# formats by the kind of layer
mkdir m
printf '0\t0\t1\n' >w.tsv
for name in input_weight fclayer_0_weight hidden_weight v_embedding gbdt.split.value; do
  furrow model import -q w.tsv "m/$name" >/dev/null
done
show() {
  furrow model info --no-stats "$1" | awk 'NR > 2 { print $1, $3 }'
}
furrow model convert -q m a -D ml.embedding.matrix.output.format=com.tencent.angel.model.output.format.BinaryColumnFormat \
  -D ml.simpleinputlayer.matrix.output.format=ColIdValueTextRowFormat >/dev/null
show a
echo "---- graph.json"
echo '{"layers":[{"name":"hidden","type":"simpleinputlayer"}]}' >m/graph.json
furrow model convert -q m b -D ml.simpleinputlayer.matrix.output.format=ColIdValueBinaryRow -D OUT_FORMAT_CLASS=ColIdValueTextRow \
  -D ml.fclayer.matrix.output.format=RowIdColIdValueBinaryRowFormat >/dev/null
show b
try furrow model convert m c -D ml.embeding.matrix.output.format=TextColumnFormat
try furrow model convert m c -D ml.embedding.matrix.output.format=Nothing
try furrow model convert m c -D nothing
