# numbers with far more digits than they need, as other programs write them, in every text format
digits=$(printf '%0450d' 0)
for format in ValueText ColIdValueText RowIdColIdValueText TextColumn; do
  awk 'BEGIN { for (i = 0; i < 40; i++) print 0 "\t" i "\t" i / 2 }' >w.tsv
  furrow model import -q w.tsv $format --format $format --row-type T_DOUBLE_DENSE >/dev/null
  before=$(stat -c %s $format/0)
  sed -i "6s/$/$digits/" $format/0
  after=$(stat -c %s $format/0) # as many digits as before: the metadata keeps its size
  sed -i "s/\"length\":$before/\"length\":$after/" $format/_meta
  echo $((after - before > 400))
  try furrow model dump $format | awk '$2 > 3 && $2 < 8 { print $2, $3 }'
  try furrow model verify -q $format >/dev/null
done
# a byte order mark before a schema or a configuration
printf '\357\273\277{"columns": {"y": {"as": "label"}, "a": {"as": "category"}}}' >schema.json
printf 'y,a\n1,p\n0,q\n1,p\n0,q\n' >log.csv
try furrow rows encode -q log.csv --schema schema.json --out rows.ffm >/dev/null
cat rows.ffm
printf '\357\273\277{"data": {"format": "libsvm"}, "train": {"epoch": 1}, "model": {"modeltype": "T_DOUBLE_DENSE"}, "default_optimizer": "sgd", "layers": [{"name": "wide", "type": "SimpleInputLayer", "outputdim": 1, "transfunc": "identity"}, {"name": "out", "type": "SimpleLossLayer", "inputlayer": "wide", "lossfunc": "logloss"}]}' >conf.json
printf '1 1:1\n-1 2:1\n1 1:1\n-1 2:1\n' >t.libsvm
try furrow train -q --conf conf.json --train t.libsvm --out m >/dev/null
printf '\357\273\277{"columns": {"y": {"as": "lable"}}}' >wrong.json
try furrow rows encode -q log.csv --schema wrong.json --out rows.ffm --force
