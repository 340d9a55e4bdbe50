# a second signal ends a command at once, and still nothing is left behind; a signal while a pipe is waited for ends it
set -m # else signals are ignored in the background
exec 2>/dev/null # bash tells there of jobs that a signal ended, at some time
mkdir out
for ((i = 0; i < 200; i++)); do sed 1d small.libsvm; done >part.libsvm
for ((i = 0; i < 60; i++)); do cat part.libsvm; done >some.libsvm
seq 0 100000 | awk '{ print "0\t" $1 "\t" $1 / 8 }' >big.tsv
furrow model import -q big.tsv big --format RowIdColIdValueTextRow >/dev/null
# twice FIRST SECOND COMMAND…: both signals once its temporary is there
twice() {
  local first=$1 second=$2 process tries i
  shift 2
  for ((i = 0; i < 2; i++)); do
    "$@" >/dev/null 2>err &
    process=$!
    tries=0
    until compgen -G 'out/.*furrow-*' >/dev/null || ! kill -0 $process 2>/dev/null; do
      [ $((tries++)) -lt 100000 ] || break
    done
    kill -"$first" $process 2>/dev/null
    kill -"$second" $process 2>/dev/null
    { wait $process; } 2>/dev/null
    case $? in
    0 | 130 | 143) ;;
    *) echo "$2 $3: exit $?" ;;
    esac
    ls -A out | grep furrow-
    rm -rf out/* out/.*furrow-*
  done
}
for signals in "INT INT" "TERM INT" "TERM TERM"; do
  twice $signals furrow rows convert some.libsvm out/rows --to libsvm --chunk 64KiB
  twice $signals furrow model convert big out/copy --format ColIdValueTextRow --threads 1
  twice $signals furrow model export big out/w.npz --threads 1
  twice $signals furrow rows info 'some.libsvm#out/cache'
  twice $signals furrow rows split some.libsvm --fractions 0.5,0.5 --out out/
done
# a directory that the command has made goes with its files; the rows are one block, which takes longer than the signals
for ((i = 0; i < 10; i++)); do cat some.libsvm; done >many.libsvm
for signals in 1 2; do
  for ((round = 0; round < 20; round++)); do # again where it had done its work before the signal came
    rm -rf out/parts
    furrow rows split many.libsvm --fractions 0.5,0.5 --out out/parts/ --chunk 1GiB >/dev/null 2>err &
    process=$!
    until [ -d out/parts ] || ! kill -0 $process; do :; done
    for ((i = 0; i < signals; i++)); do
      while grep -q '^ShdPnd:.*[1-9a-f]' /proc/$process/status; do :; done # the one before has come
      kill -INT $process
    done
    { wait $process; } 2>/dev/null
    code=$?
    [ $code -eq 0 ] || break
  done
  echo "rows split: exit $code"
  ls -A out
done
# a pipe that nobody writes to, and one whose writer writes nothing
mkfifo pipe pipe.tsv pipe.fvecs
# waiting SIGNAL PIPE COMMAND…
waiting() {
  local signal=$1 pipe=$2 process
  shift 2
  "$@" >/dev/null 2>err &
  process=$!
  until [ -n "$(find /proc/$process/fd -lname "*/$pipe" 2>/dev/null)" ]; do
    kill -0 $process 2>/dev/null || break
  done
  [ -z "$writer" ] || exec 8>"$pipe"
  kill -"$signal" $process
  { wait $process; } 2>/dev/null
  echo "$2 $3$writer: exit $?"
  exec 8>&-
}
for writer in "" " with a writer"; do
  waiting TERM pipe.tsv furrow model import pipe.tsv out/model
  waiting INT pipe furrow rows convert pipe out/rows --format libsvm --to libsvm
  waiting INT pipe furrow rows info 'pipe?format=libsvm#out/cache'
  waiting HUP pipe furrow train --model lr --train pipe --out out/lr
  waiting TERM pipe.fvecs furrow index build --base pipe.fvecs --out out/index --nlist 2 --m 0
done
# one that nobody reads
mkfifo slow
sleep 60 <slow &
exec 7>slow
furrow model export big - --to tsv >&7 2>err &
process=$!
until [ "$(awk '{ print $3 }' /proc/$process/stat)" = S ] && grep -q pipe_write /proc/$process/wchan 2>/dev/null; do
  [ "$((tries++))" -lt 100 ] || break
  sleep 0.01
done
kill -INT $process
{ wait $process; } 2>/dev/null
echo "model export -: exit $?"
exec 7>&-
{ kill %sleep; wait; } 2>/dev/null
ls -A out
