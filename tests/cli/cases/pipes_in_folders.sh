# a pipe in place of a file is refused at once, with its name: nothing waits for it, and nothing is left out silently
printf '1 1:1\n0 2:1\n1 3:1\n0 1:1 2:1\n' >t.libsvm
furrow train -q --model lr --train t.libsvm --out m --valid-ratio 0
mkfifo pipe
refuses() { # the command must end by itself: a limit stands for waiting for ever
  timeout -s KILL 30 furrow "$@" >said 2>&1
  local code=$?
  grep -aE "regular|neither a file" said
  echo "$1 $2: exit $code"
}
echo "index"
for verb in info verify map; do refuses index $verb pipe; done
refuses index merge pipe pipe --out x.index
refuses index convert pipe x.index
refuses index search pipe t.libsvm -k 1
for name in graph.json furrow.json w/_meta w/0 w/extra other; do
  path=${name/#w\//input_weight/}
  echo "$path"
  rm -rf m2 out && cp -r m m2 && rm -f "m2/$path" && mkfifo "m2/$path"
  refuses model verify m2
  refuses model convert m2 out
  [ "$name" = w/extra ] || refuses model info m2
  [ ! -e out ] || echo "written nevertheless"
done
echo "rows are read from a pipe"
cat t.libsvm >pipe &
furrow rows dump pipe | head -1
furrow rows dump <(cat t.libsvm) | tail -1
wait
