# furrow info knows what a path is, whatever Furrow reads
awk 'BEGIN { for (i = 0; i < 200; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
mkdir model && furrow model import -q v.tsv model/vectors --row-type T_FLOAT_DENSE >/dev/null
for kind in fvecs npy fbin npz safetensors; do furrow model export -q model/vectors v.$kind >/dev/null; done
furrow train -q --defaults angel --model fm --rank 2 --train small.libsvm --index-base 0 --range 8 --out fm.model --epochs 2 --checkpoint kept
printf 'a,b,y\n1,2,3\nnan,1,5\n3,1,3\n3,5,5\n2,5,5\n1,6,3\n' >nan.csv
furrow train -q --model lr --train 'named.csv?label_column=0' --out lr.model
mkdir damaged later own && head -c 300 lr.model/furrow.json >damaged/furrow.json && sed 's/"version" : 1/"version" : 2/' lr.model/furrow.json >later/furrow.json
printf '{"furrow": {"algorithm": "lr", "range": "10"}}' >own/furrow.json
furrow rows convert -q small.libsvm small.cache >/dev/null
mkdir folder && cp small.libsvm folder/a && gzip -c small.libsvm >folder/b.gz
printf '\4\0\0\0\1\2\3\4\4\0\0\0\5\6\7\10' >v.bvecs
printf '\2\0\0\0\1\0\0\0\3\0\0\0' >v.ivecs
printf '{"data": {"format": "libsvm", "indexrange": 10}, "train": {"epoch": 3}, "model": {"modeltype": "T_FLOAT_DENSE"},
 "default_optimizer": "momentum", "layers": [{"name": "wide", "type": "SimpleInputLayer", "outputdim": 1, "transfunc": "identity"},
 {"name": "out", "type": "SimpleLossLayer", "lossfunc": "logloss", "inputlayer": "wide"}]}' >conf.json
{ printf '\357\273\277' && cat conf.json; } >marked.json
printf '{"user": "%s", "item": {"id": "%s"}, "y": %s}\n' ann p 1 ben q 0 ann q 0 >log.jsonl
for path in small.libsvm small.libffm named.csv 'named.csv?label_column=0' numbers.dense folder/b.gz folder small.cache model/ \
  model/vectors model/vectors/_meta model/vectors/0 small.index disk.index transforms.index v.fvecs v.npy v.fbin v.npz \
  v.safetensors v.bvecs v.ivecs conf.json marked.json log.jsonl fm.model fm.model/graph.json nan.csv \
  damaged/furrow.json later/furrow.json own/furrow.json; do
  echo "== $path"
  try furrow info "$path"
done
for path in kept kept/checkpoint lr.model/furrow.json; do
  echo "== $path"
  furrow info "$path" | grep -v -e '^bytes' -e ' loss' -e '^loss' -e '^best' -e '^epochs'
done
# the same for programs
for path in small.libsvm model v.npz small.index conf.json kept lr.model/furrow.json; do furrow info --json "$path" | is_json; done
furrow info --json v.fvecs
