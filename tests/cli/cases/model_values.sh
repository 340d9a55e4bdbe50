# formats that keep values without their columns are for dense rows
printf '0\t5\t1.5\n0\t9\t2.5\n' >w.tsv
for format in ValueText ValueBinary; do
  try furrow model import -q w.tsv sparse --format $format --row-type T_FLOAT_SPARSE
  try furrow model import -q w.tsv $format --format $format --row-type T_FLOAT_DENSE >/dev/null
  furrow model dump $format | awk '$3 != 0'
done
furrow model import -q w.tsv w --row-type T_FLOAT_SPARSE >/dev/null
try furrow model convert -q w v --format ValueText
try furrow model convert -q w v --format ValueText --row-type T_FLOAT_DENSE >/dev/null
furrow model dump v | awk '$3 != 0'
echo ---- as Angel does
try furrow model convert w lossy --format ValueText --angel-bytes
furrow model dump lossy
echo ---- training
printf '1 2:1 5:1\n-1 2000000:1\n1 2:1\n-1 7:1\n' >t.libsvm
value=ml.simpleinputlayer.matrix.output.format=ValueText
train() { # OPTIONS…
  try furrow train --model lr --train t.libsvm --valid-ratio 0 --epochs 1 --out m --force --json "$@" >/dev/null
}
train
train -q
train -D $value
train -D $value --model-type T_DOUBLE_SPARSE
train -D $value --range 2000000
furrow model info m | awk '{ print $1, $3, $4 }'
