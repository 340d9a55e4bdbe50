# a signal, a full disk, a reader that leaves early: no torn model, nothing left behind
awk 'BEGIN { r = 5; for (i = 0; i < 20000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 2000; b = int(r / 64) % 2000; print (a % 3 ? 0 : 1), a + 1 ":1", b + 2001 ":1" } }' >t.libsvm
set -m # else signals are ignored in the background
for signal in INT TERM; do
  : >said
  furrow train --model fm --train t.libsvm --out m --epochs 1000000 --patience 1000000 >said 2>err &
  for ((i = 0; i < 15000; i++)); do [ "$(wc -l <said)" -ge 3 ] && break; sleep 0.02; done
  kill -$signal $!
  { wait $!; } 2>/dev/null
  echo "$signal: exit $?"
  cat err
done
furrow train -q --model fm --train t.libsvm --out m --epochs 1000000 --patience 1000000 --checkpoint ck 2>err &
for ((i = 0; i < 15000; i++)); do [ -e ck/checkpoint ] && break; sleep 0.02; done
kill -INT $!
{ wait $!; } 2>/dev/null
echo "INT: exit $?"
cat err
rm -r ck
ls -A | grep -v -x -e t.libsvm -e err -e said -f <(cd "$(dirname "${BASH_SOURCE[0]}")/../data" && ls)
furrow train --model lr --train t.libsvm --out piped --epochs 3 | head -n 1 | awk '{ print $1, $2 }'
echo "${PIPESTATUS[0]}" && ls -d piped
furrow predict --model piped --data t.libsvm | head -n 1 | awk -F, '{ print NF }'
echo "${PIPESTATUS[0]}"
furrow eval --model piped --data t.libsvm --json | true
echo "${PIPESTATUS[0]}"
if [ -c /dev/full ]; then
  furrow train --model lr --train t.libsvm --out full --epochs 3 >/dev/full 2>>err
  echo $?
  furrow predict --model piped --data t.libsvm >/dev/full 2>>err
  echo $?
else
  printf '14\n4\n'
  mkdir full
fi
# no file may grow beyond 16 KB: neither the model nor a checkpoint can be written
trap '' XFSZ
(ulimit -f 16; try furrow train -q --model fm --train t.libsvm --out large --epochs 1)
(ulimit -f 16; try furrow train -q --model fm --train t.libsvm --out large --epochs 1 --checkpoint kept)
ls -A kept
ls -d full large 2>/dev/null
ls -A | grep -i -e tmp -e large -e '^\.'
true
