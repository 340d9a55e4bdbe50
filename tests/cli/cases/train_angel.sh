# a job as Angel's documents have it: keys that count, keys that are ignored, keys that nobody has
awk 'BEGIN { r = 5; for (i = 0; i < 300; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; print (a % 3 ? 0 : 1), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
job=(-D ml.model.class.name=com.tencent.angel.ml.classification.LogisticRegression
  -D angel.app.submit.class=com.tencent.angel.ml.core.graphsubmit.GraphRunner -D ml.epoch.num=2 -D ml.data.type=libsvm
  -D 'ml.data.splitor=\s+' -D ml.feature.index.range=41 -D ml.model.size=41 -D ml.lr.reg.l2=0.03 -D ml.learn.rate=0.1
  -D ml.inputlayer.optimizer=ftrl -D angel.train.data.path=t.libsvm -D angel.save.model.path=lr
  -D angel.workergroup.number=20 -D angel.worker.memory.mb=20000 -D angel.ps.number=20 -D angel.ps.number=10
  -D angel.task.data.storage.level=memory -D angel.job.name=angel_l1)
try furrow train "${job[@]}" -D action.type=train | tail -n 2
furrow model dump lr/input_weight | wc -l
try furrow train "${job[@]}" -D action.type=train --force -q
try furrow train "${job[@]}" -D action.type=predict
try furrow train "${job[@]}" -D action.type=inctrain
try furrow train "${job[@]}" -D angel.ps.numbr=3
try furrow train "${job[@]}" -D zzz=3
try furrow train "${job[@]}" -D ml.data.splitor=,
echo ---- trees
try furrow train -D angel.app.submit.class=com.tencent.angel.ml.GBDT.GBDTRunner -D ml.gbdt.task.type=regression -D ml.gbdt.tree.num=2 \
  -D ml.gbdt.thread.num=4 -D ml.gbdt.max.leaf.weight=2 -D ml.feature.num=41 --train t.libsvm --out trees | tail -n 2
grep -o '"lossfunc"[^,]*' trees/graph.json
echo ---- JSON
cat >old.json <<'END'
{
  "data": {"format": "libsvm", "indexrange": 41, "numfield": 2, "validateratio": 0.1},
  "model": {"modeltype": "T_FLOAT_SPARSE", "modelsize": 41, "savePath": "old"},
  "train": {"epoch": 1, "numupdateperepoch": 10, "lr": 0.01, "decay": 0.25},
  "default_optimizer": "Momentum",
  "layers": [
    {"name": "wide", "type": "sparseinputlayer", "outputdim": 1, "transfunc": "identity"},
    {"name": "simplelosslayer", "type": "simplelosslayer", "lossfunc": "logloss", "inputlayer": "wide"}
  ]
}
END
try furrow train -D angel.ml.conf=old.json --train t.libsvm -q
grep -E 'decayalpha|"type"' old/graph.json
sed 's/"decay"/"decays"/' old.json >wrong.json
try furrow train --conf wrong.json --train t.libsvm
sed 's/"decay"/"color"/' old.json >wrong.json
try furrow train --conf wrong.json --train t.libsvm
echo ---- predict
try furrow predict --model lr --data t.libsvm -D angel.ps.number=3 -D angel.predict.out.path=there | head -n 1
