# Angel's JSON file: everything in it, options on top, and what is wrong with it
awk 'BEGIN { r = 5; for (i = 0; i < 500; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 30; print (a % 3 ? 0 : 1), a + 1 ":1" } }' >t.libsvm
cat >lr.json <<'END'
{
  "data": {"path": "t.libsvm", "format": "libsvm", "indexrange": 30, "validateratio": 0.1},
  "model": {"savepath": "from_json", "modeltype": "T_DOUBLE_DENSE"},
  "train": {"epoch": 2, "batchsize": 64, "lr": 0.1},
  "default_optimizer": "sgd",
  "layers": [
    {"name": "wide", "type": "SimpleInputLayer", "outputdim": 1, "transfunc": "identity"},
    {"name": "loss", "type": "SimpleLossLayer", "inputlayer": "wide", "lossfunc": "logloss"}
  ]
}
END
furrow train --conf lr.json | awk '{ print $1, NF }'
ls from_json
try furrow train --conf lr.json
furrow train --conf lr.json --out options --epochs 3 -D ml.data.validate.ratio=0 | awk '{ print $1, NF }'
furrow train -q --conf from_json/graph.json --train t.libsvm --out again
diff -r from_json again && echo "the same from its graph.json"
furrow train -q --conf lr.json --load from_json --out more && echo "went on"
wrong() { # SED
  sed "$1" lr.json >wrong.json
  try furrow train --conf wrong.json --out wrong
}
wrong 's/"epoch"/"epochs"/'
wrong 's/"epoch": 2/"epoch": "two"/'
wrong 's/"epoch": 2/"epoch": 0/'
wrong 's/"inputlayer": "wide"/"inputlayer": "wode"/'
wrong 's/SimpleInputLayer/SimpleInputLayr/'
wrong 's/"sgd"/"sdg"/'
wrong '/^}/d'
wrong 's/"data": {"path": "t.libsvm", /"data": {/'
wrong 's/"path": "t.libsvm"/"path": "other.libsvm"/'
try furrow train --conf lr.json --rank 4
[ ! -e wrong ]
