# a signal in the middle of writing: exit 128 + its number, nothing is left behind
set -m # else signals are ignored in the background
# stop FILE SIGNAL COMMAND…: ends the command once its hidden file beside FILE is there; again where it had done its work
# before the signal came
stop() {
  local file=$1 signal=$2 tries=0 code round
  shift 2
  for ((round = 0; round < 20; round++)); do
    tries=0
    "$@" </dev/fd/9 >/dev/null 2>err &
    local process=$!
    until compgen -G "out/.${file#out/}.furrow-*" >/dev/null || ! kill -0 $process 2>/dev/null || [ $((tries++)) -gt 30000 ]; do read -r -t 0.002 <>pause; done
    kill -"$signal" $process 2>/dev/null
    { wait $process; } 2>/dev/null
    code=$?
    [ -e "$file" ] && [ ! -s err ] || break
    rm -rf "$file"
  done
  echo "$2 $3: exit $code, $(cat err)" | sed 's/, furrow: stopped by a signal; no part of the result was written$/, and says so/'
  [ ! -e "$file" ] || echo "$file is there"
  compgen -G 'out/.*'
}
for ((i = 0; i < 200; i++)); do sed 1d small.libsvm; done >part.libsvm
for ((i = 0; i < 300; i++)); do cat part.libsvm; done >some.libsvm
furrow train -q --model lr --train part.libsvm --index-base 0 --out lr.model --epochs 1
mkdir out && mkfifo pause
# input that pauses until the command has ended, so that it is in the middle whatever the machine
slowly() {
  cat some.libsvm && read -r -t 300 <>pause
}
exec 9< <(slowly)
feeder=$!
stop out/rows INT furrow rows convert - out/rows --format libsvm --to libsvm --chunk 64KiB
kill $feeder 2>/dev/null
exec 9< <(slowly)
feeder=$!
stop out/rows.csv TERM furrow rows convert - out/rows.csv --format libsvm --columns 10 --chunk 64KiB
kill $feeder 2>/dev/null
exec 9< <(slowly)
feeder=$!
stop out/scores.npy INT furrow predict --model lr.model --data - --scores out/scores.npy
kill $feeder 2>/dev/null
exec 9</dev/null
# and what reads no stream, but has much to write
seq 0 800000 | awk '{ print "0\t" $1 "\t" $1 / 8 }' >big.tsv
furrow model import -q big.tsv big --format RowIdColIdValueTextRow >/dev/null
stop out/copy INT furrow model convert big out/copy --format ColIdValueTextRow --threads 1
stop out/w.npz TERM furrow model export big out/w.npz --threads 1
# a row cache that is being made is given up at once
for ((i = 0; i < 40; i++)); do cat some.libsvm; done >more.libsvm
stop_cache() {
  rm -f out/*
  stop out/cache "$@"
}
stop_cache INT furrow rows info 'more.libsvm#out/cache'
stop_cache TERM furrow rows dump 'more.libsvm#out/cache'
stop_cache HUP furrow eval --model lr.model --data 'more.libsvm#out/cache'
stop_cache INT furrow predict --model lr.model --data 'more.libsvm#out/cache'
rm -f out/*
ls -A out
