# a signal, a full disk, a reader that leaves: the demo says so, its folder can be used again
small="--rows 400000 --users 1000 --items 500 --out d"
set -m # else signals are ignored in the background
for signal in INT TERM; do
  : >said
  furrow demo $small >said 2>err &
  for ((i = 0; i < 15000; i++)); do
    grep -q '^\$ furrow train' said && break
    sleep 0.02
  done
  sleep 0.1
  kill -$signal $!
  { wait $!; } 2>/dev/null
  echo "$signal: exit $?"
  tail -n 1 err
  ls d | grep -e fm.model -e report.html
done
trap '' XFSZ
(ulimit -f 16; try furrow demo --rows 2000 --users 20 --items 100 -q --out d)
ls d | grep log.csv
(ulimit -f 56; try furrow demo --rows 1200 --users 20 --items 800 -q --out d 2>err)
grep -c 'the demo stops because' err
[ ! -c /dev/full ] || furrow demo --rows 2000 --users 20 --items 100 --out d >/dev/full 2>err
echo $?
furrow demo --rows 2000 --users 20 --items 100 --out d | head -n 1
echo "${PIPESTATUS[0]}"
try furrow demo --rows 2000 --users 20 --items 100 -q --out d
ls d/report.html
