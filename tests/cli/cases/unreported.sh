# a change that is complete is not a failure if its report cannot be written: exit 14, and stderr says what was stored
if [ ! -c /dev/full ]; then
  cat "${BASH_SOURCE[0]%.sh}.out"
  exit 0
fi
awk 'BEGIN { for (i = 0; i < 40; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
awk 'BEGIN { print "user,item,click"; for (i = 0; i < 300; i++) printf "u%d,i%d,%d\n", i % 20, i % 7, i % 2 }' >log.csv
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%d %d:1 %d:1\n", i % 2, i % 7 + 1, i % 2 + 9 }' >clicks.libsvm
seq 40 | sed 's/^/name/' >names.txt
# Runs a command whose report goes to a full disk.
full() {
  "$@" >/dev/full 2>err
  echo "exit $?: $2 $3"
  sed -n '/^furrow: done/p; /^written/p; /^vectors/p; /^model/p; /^names/p; /removed/p' err
}
full furrow model import v.tsv rows --row-type T_FLOAT_DENSE
full furrow model export rows v.fvecs --no-ids
full furrow model convert rows copy
full furrow index build -q --base v.fvecs --nlist 2 --m 2 --nbits 4 --out x.index
full furrow index add -q x.index --base v.fvecs
full furrow index remove -q x.index --ids 1,2
full furrow index convert x.index y.index
full furrow index merge x.index --out z.index
full furrow index build -q --base v.fvecs --nlist 2 --m 2 --nbits 4 --out n.index
full furrow index names n.index --set names.txt
full furrow rows convert small.libsvm r.csv
full furrow rows encode log.csv --schema auto --label click --out e.ffm
full furrow rows schema log.csv --label click --out s.json
full furrow rows split log.csv --fractions 0.5,0.5 --out p
full furrow train --model fm --train log.csv --schema auto --label click --epochs 3 --out m
full furrow train --model lr --train log.csv --schema auto --label click --folds 2 --out f
full furrow tune --model lr --train clicks.libsvm --runs 2 --conf-out t.json
ls -d copy e.ffm f m t.json n.index.names p.* r.csv rows s.json v.fvecs ?.index
furrow index info x.index | grep ^vectors
furrow index add --json -q x.index --base v.fvecs 2>err >/dev/full
/usr/bin/python3 -c 'import json, sys; print(json.loads(sys.stdin.read().split("\n", 1)[1])["vectors"])' <err
echo "- what is printed is the result"
for command in "rows dump small.libsvm" "model dump rows" "predict --model m --data log.csv" "index search x.index v.fvecs" \
  "rows schema log.csv" "rows convert small.libsvm - --to csv" "train --model lr --train log.csv --schema auto --label click --folds 2"; do
  furrow $command >/dev/full 2>err
  echo "exit $?: $command"
done
