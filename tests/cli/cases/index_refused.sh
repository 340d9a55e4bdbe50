try furrow index convert small.index legacy.index
furrow index convert small.index legacy.index --force >/dev/null
cmp small.index legacy.index
try furrow index info small.libsvm
try furrow index info nowhere.index
try furrow index info .
(cat small.index; printf 'tail') >long.index
try furrow index info long.index
furrow index info long.index --allow-trailing | head -n 2
head -c 100 small.index >cut.index
try furrow index convert cut.index out.index
try furrow index convert small.index - --json
try furrow index conver small.index out.index
ls out.index 2>/dev/null
true
for verb in info map verify "convert - out.index" "search - v.fvecs" "recall - v.fvecs --base v.fvecs" "add - --base v.fvecs" \
  "remove - --ids 1" "merge - --out out.index"; do
  [ "${verb#* }" = "$verb" ] && verb="$verb -"
  try furrow index $verb <small.index
done
