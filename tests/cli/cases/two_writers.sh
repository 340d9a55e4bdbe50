# two processes that change the same thing: one of them is told who has it, and no change is lost
mkfifo more.fvecs more.libsvm
awk 'BEGIN { for (i = 0; i < 100; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
furrow index build --train v.fvecs --base v.fvecs --out i.index --nlist 4 --m 2 --nbits 4 -q >/dev/null
cp i.index other.index
seq 100 | sed 's/^/name/' >names.txt
for ((i = 0; i < 50; i++)); do sed 1d small.libsvm; done >part.libsvm
furrow train -q --model lr --train part.libsvm --index-base 0 --out lr.model --epochs 1 --optimizer sgd
# locked PATH: waits until a process has locked it
locked() {
  local tries=0
  while flock -n "$1" true; do
    [ $((tries++)) -lt 3000 ] || { echo "$1 was never locked" && return; }
    sleep 0.01
  done
}
# refused COMMAND…: its exit code and message, without the number of the process
refused() {
  "$@" >/dev/null 2>err
  echo "$2 $3: exit $?"
  sed 's/process [0-9]*/process N/; s/(f[a-z]* [^)]*)/(…)/' err
}
echo "- an index"
furrow index add i.index --base more.fvecs -q >/dev/null &
exec 8>more.fvecs
locked i.index
refused furrow index add i.index --base v.fvecs -q
refused furrow index remove i.index --ids 1 -q
refused furrow index merge i.index other.index --out i.index --force --repeated-ids
refused furrow index names i.index --set names.txt
refused furrow index build --train v.fvecs --base v.fvecs --out i.index --nlist 4 --m 2 --nbits 4 --force -q
cat v.fvecs >&8
exec 8>&-
wait
furrow index info i.index | grep '^vectors'
try furrow index add i.index --base v.fvecs -q >/dev/null
furrow index info i.index | grep '^vectors'
echo "- a model that is trained further"
furrow train -q --model lr --load lr.model --train more.libsvm --format libsvm --index-base 0 --out lr.model --force --epochs 1 &
first=$!
exec 8>more.libsvm
locked lr.model
refused furrow train -q --model lr --load lr.model --train part.libsvm --out lr.model --force --epochs 1 --index-base 0
refused furrow model convert lr.model lr.model.2
refused furrow model convert lr.model.2 lr.model --force
cat part.libsvm >&8
exec 8>&-
wait $first
echo "the first: exit $?"
echo "- checkpoints"
mkdir kept
train=(furrow train -q --model fm --rank 2 --epochs 1 --train part.libsvm --index-base 0 --checkpoint kept)
refused flock kept "${train[@]}" --out fm.model # flock has it
try "${train[@]}" --out fm.model
ls -A kept
echo "- a command line that is text, not a format"
mkdir k%n%s%s
flock k%n%s%s furrow train -q --model fm --train part.libsvm --index-base 0 --checkpoint k%n%s%s --out fm.model --force 2>&1 |
  grep -o '(flock k%n%s%s'
# two at the same time, whichever comes first: vectors are added twice, or one command says that it was refused
for ((i = 0; i < 4; i++)); do
  before=$(furrow index info i.index --json | sed -n 's/.*"vectors": \([0-9]*\).*/\1/p' | head -n 1)
  furrow index add i.index --base v.fvecs -q >/dev/null 2>&1 &
  furrow index add i.index --base v.fvecs -q >/dev/null 2>&1
  codes=$?
  wait $!
  codes="$codes $?"
  after=$(furrow index info i.index --json | sed -n 's/.*"vectors": \([0-9]*\).*/\1/p' | head -n 1)
  good=$(grep -o '\<0\>' <<<"$codes" | wc -l)
  [ $((after - before)) -eq $((good * 100)) ] && [ "$good" -gt 0 ] || echo "from $before to $after: $codes"
done
# two that encode: rows and dictionary are of one of them
awk 'BEGIN { print "user,item,click"; for (i = 0; i < 600; i++) print "u" i % 37 ",i" i % 23 "," i % 2 }' >forth.csv
sed 's/^u/v/' forth.csv | tac | sed '$d' | (echo user,item,click && cat) >back.csv
encode() { furrow rows encode "$1.csv" --schema auto --label click --out "$2.ffm" --dictionary "$2.d" --force -q; }
encode forth forth >/dev/null && encode back back >/dev/null && encode forth both >/dev/null
# where the layer works, the first one stops before it replaces the dictionary, and goes on when the second one is as far
"${CC:-cc}" -shared -fPIC stop_layer.c -o stop.so 2>/dev/null && STOP_SEEN=seen LD_PRELOAD=$PWD/stop.so furrow --version >/dev/null 2>&1
if [ -e seen ]; then
  LD_PRELOAD=$PWD/stop.so STOP_CALL=renameat2 STOP_SIGNAL=19 "$(type -P furrow)" rows encode forth.csv --schema auto \
    --label click --out both.ffm --dictionary both.d --force -q >/dev/null 2>&1 &
  first=$!
  for ((i = 0; i < 3000; i++)); do
    grep -qs '^State:.[TZ]' /proc/$first/status && break
    sleep 0.01
  done
  encode back both >/dev/null 2>&1 &
  sleep 0.3
  kill -CONT $first
  wait $first $!
fi
for log in forth back none; do cmp -s both.ffm $log.ffm && diff -rq both.d $log.d >/dev/null && break; done
[ $log != none ] || echo "rows of one log, dictionary of the other"
# an index and its names that are replaced while others read them: an answer of one of the two, or none
tac names.txt | sed s/name/other/ >names.2.txt
furrow index build --train v.fvecs --base v.fvecs --out 1.index --nlist 4 --m 2 --nbits 4 --names names.txt -q >/dev/null
furrow index build --train v.fvecs --base v.fvecs --out 2.index --nlist 2 --m 2 --nbits 4 --names names.2.txt -q >/dev/null
for n in 1 2; do furrow index search $n.index v.fvecs -k 3 --nprobe 4 >answer.$n; done
while [ ! -e stop ]; do for n in 1 2; do furrow index convert $n.index x.index --force -q >/dev/null; done; done &
until [ -e x.index ]; do sleep 0.01; done
for ((i = 0; i < 40; i++)); do
  furrow index search x.index v.fvecs -k 3 --nprobe 4 >answer 2>/dev/null || continue
  cmp -s answer answer.1 || cmp -s answer answer.2 || echo "an answer of both"
done
: >stop
wait
# two that make the same row cache: of the same data, and of other data
for ((i = 0; i < 40; i++)); do cat part.libsvm; done >a.libsvm
sed 's/^1 /0 /' a.libsvm >b.libsvm
furrow rows dump a.libsvm >a.rows
furrow rows dump b.libsvm >b.rows
for other in a b; do
  furrow rows dump "$other.libsvm#cache" >second 2>second.err &
  furrow rows dump 'a.libsvm#cache' >first 2>first.err
  codes=$?
  wait $!
  codes="$codes $?"
  case $codes in
  "0 0") cmp a.rows first && cmp "$other.rows" second ;;
  "0 "*) cmp a.rows first && grep -q 'made from other files' second.err || cat second.err ;;
  *" 0") cmp "$other.rows" second && grep -q 'made from other files' first.err || cat first.err ;;
  *) echo "both failed: $(cat first.err second.err)" ;;
  esac
  furrow rows dump "$other.libsvm#cache" 2>/dev/null | cmp -s - "$other.rows" || furrow rows dump 'a.libsvm#cache' | cmp - a.rows
  rm -f cache
done
ls -A | grep furrow-
true
