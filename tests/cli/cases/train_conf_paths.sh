# paths in a configuration file stay below the current folder; those of the command line are the user's own
awk 'BEGIN { r = 5; for (i = 0; i < 200; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 30; print (a % 3 ? 0 : 1), a + 1 ":1" } }' >t.libsvm
mkdir work outside && cp t.libsvm outside && cd work && cp ../t.libsvm . && mkdir sub && ln -s ../outside link && ln -s ../nowhere dangling
conf() { # DATA SAVE [KEYS]
  cat >c.json <<END
{
  "data": {"path": "$1", "format": "libsvm", "indexrange": 30, "validateratio": 0.1},
  "model": {"savepath": "$2", "modeltype": "T_DOUBLE_DENSE"},
  "train": {"epoch": 1, "batchsize": 64, "lr": 0.1},
  "default_optimizer": "sgd"$3,
  "layers": [
    {"name": "wide", "type": "SimpleInputLayer", "outputdim": 1, "transfunc": "identity"},
    {"name": "loss", "type": "SimpleLossLayer", "inputlayer": "wide", "lossfunc": "logloss"}
  ]
}
END
}
refused() {
  conf "$@"
  try furrow train -q --conf c.json
}
echo "where a model is written"
refused t.libsvm /tmp/furrow-test-out
refused t.libsvm ../outside/model
refused t.libsvm sub/../../outside/model
refused t.libsvm link/model
refused t.libsvm dangling
refused t.libsvm memory://out
refused t.libsvm sub/..
echo "what is read, and its cache"
refused /etc/passwd model
refused ../t.libsvm model
refused link/t.libsvm model
refused file:///etc/passwd model
refused 't.libsvm;../t.libsvm' model
refused 't.libsvm#../outside/cache' model
refused 't.libsvm#link/cache' model
refused 't.libsvm?format=table&encoder=../outside' model
refused t.libsvm model ', "furrow": {"encoder": "/etc"}'
refused t.libsvm model ', "furrow": {"valid": "../t.libsvm"}'
refused t.libsvm model ', "furrow": {"load": "../outside"}'
conf ../t.libsvm ../outside/by_define
try furrow train -q -D angel.ml.conf=c.json
mkdir folder && ln -s ../../t.libsvm folder/t.libsvm && ln -s ../t.libsvm leads_out
refused folder model
refused 'folder/*' model
refused 'leads*' model
refused 'l[e]ads_out' model
ls ../outside
[ ! -e model ] || echo "written nevertheless"
echo "what is allowed"
conf 't.libsvm' ./sub/model
furrow train -q --conf c.json && ls -d sub/model
conf hdfs://cluster/data hdfs://cluster/model
furrow train -q --conf c.json --train ../t.libsvm --out ../outside/one && ls -d ../outside/one
furrow train -q --conf c.json -D angel.train.data.path=../t.libsvm -D angel.save.model.path=../outside/two && ls -d ../outside/two
furrow train -q --conf c.json --dry-run >/dev/null && echo described
conf ../t.libsvm ../outside/three
furrow train -q --conf c.json --allow-paths && ls -d ../outside/three
