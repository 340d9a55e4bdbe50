# no command writes over what it reads, nor two results into one file, --force or not
awk 'BEGIN {
  print "user,item,rating"
  for (u = 0; u < 20; u++) for (j = 0; j < 8; j++) { i = (u * 7 + j * 13) % 30; print "u" u ",i" i "," (i % 5 == u % 5 ? 5 : 1) }
}' >log.csv
awk 'BEGIN { r = 5; for (i = 0; i < 200; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 30; print (a % 3 ? 0 : 1), a + 1 ":1" } }' >rows.libsvm
mkdir parts && cp rows.libsvm parts/a.libsvm && ln rows.libsvm hard.libsvm && cp log.csv other.csv
echo u3 >users.txt
furrow train -q --model gbdt --trees 3 --train rows.libsvm --out m >/dev/null
furrow train -q --model fm --epochs 1 --train log.csv --schema auto --user user --item item --out fm >/dev/null
cat >conf.json <<END
{
  "data": {"path": "rows.libsvm", "format": "libsvm", "indexrange": 40, "validateratio": 0.1},
  "model": {"savepath": "n", "modeltype": "T_DOUBLE_DENSE"},
  "train": {"epoch": 1, "batchsize": 64, "lr": 0.1},
  "default_optimizer": "sgd",
  "layers": [
    {"name": "wide", "type": "SimpleInputLayer", "outputdim": 1, "transfunc": "identity"},
    {"name": "loss", "type": "SimpleLossLayer", "inputlayer": "wide", "lossfunc": "logloss"}
  ]
}
END
sums() { find . -type f | LC_ALL=C sort | xargs cksum; }
before=$(sums)
refused() { # COMMAND…: with --force, which changes nothing
  furrow "$@" --force
  local code=$?
  [ $code -eq 2 ] || echo "exit $code: $*"
}
refused eval --model m --data rows.libsvm --curves ./rows.libsvm
refused eval --model m --data rows.libsvm --curves hard.libsvm
refused eval --model m --data 'small.libsvm;rows.libsvm?format=libsvm' --curves rows.libsvm
refused eval --model m --data file://$PWD/rows.libsvm --curves rows.libsvm
refused eval --model m --data 'parts/*.libsvm' --curves parts/a.libsvm
refused eval --model m --data parts --curves parts/a.libsvm
refused eval --model m --data - --curves rows.libsvm <rows.libsvm
refused eval --model m --data rows.libsvm --curves m/graph.json
refused eval --model ./m/ --data rows.libsvm --curves m/gbdt.split.value/_meta
refused predict --model m --data rows.libsvm --scores rows.libsvm
refused predict --model m --data rows.libsvm --scores m/furrow.json
refused rows schema other.csv log.csv --out log.csv
refused rows schema log.csv --table titles.csv=item --out titles.csv
refused recommend --model fm --exclude log.csv --out log.csv
refused recommend --model fm --users users.txt --out users.txt
refused recommend --model fm --out fm/dictionary.furrow
refused tune --model lr --train rows.libsvm --conf-out rows.libsvm
refused tune --model lr --train rows.libsvm --valid parts/a.libsvm --conf-out parts/a.libsvm
refused train --model fm --train rows.libsvm --out n --svg rows.libsvm
refused train --conf conf.json --out n --dot conf.json
refused train --conf conf.json --out n --dot rows.libsvm
refused train --model fm --train rows.libsvm --out n --dot g.svg --svg ./g.svg
refused train --model fm --train rows.libsvm --load m --out n --history m/graph.json
refused train --model fm --train rows.libsvm --out m --history m/graph.json
refused model trees m --svg m/graph.json
refused model trees m --dot m/furrow.json
refused model importance m --svg m/graph.json
refused model export m m/graph.json --to npz
refused model export fm x.fbin --vectors item --ids ./x.fbin
refused model export fm x.fbin --vectors item --ids fm/graph.json
[ "$(sums)" = "$before" ] && echo nothing has changed
# what is not part of the model may lie in its directory and be replaced
for force in '' --force; do
  furrow train -q --model gbdt --trees 3 --train rows.libsvm --out m --force --history m/history.json
done
for force in '' --force; do furrow eval --model m --data rows.libsvm --curves m/curves.svg $force | grep '^rows'; done
ls m | grep -v gbdt
