# a reader that leaves early is no failure; a full disk is one; a signal leaves nothing behind
seq 0 299999 | awk '{ print $1 % 3 "\t" $1 "\t" $1 / 7 }' >big.tsv
furrow model import -q big.tsv big >/dev/null
furrow model dump big | head -n 2
echo "${PIPESTATUS[@]}"
furrow model export big - --to tsv | head -n 1
echo "${PIPESTATUS[@]}"
furrow model info --json big | true
if [ -c /dev/full ]; then
  furrow model dump big >/dev/full 2>err
  echo $?
else
  echo 4
fi
for delay in 0 0.01 0.03; do
  furrow model convert -q big copy --format ColIdValueTextRow >/dev/null 2>&1 &
  sleep $delay
  kill -TERM $! 2>/dev/null
  wait $!
  [ ! -e copy ] || diff <(furrow model dump big) <(furrow model dump copy) >/dev/null || echo "copy is torn"
  rm -rf copy
done
ls -A | grep -v -x -e big -e big.tsv -e err | grep -i -e copy -e tmp
true
