# names in files reach the terminal escaped: control characters (C0, DEL, C1), bidirectional controls, bytes that are not UTF-8
esc=$(printf '\033]0;pwn\007\033[31m') json_esc='\u001b]0;pwn\u0007\u001b[31m'
c1=$(printf '\302\233\302\235') bidi=$(printf '\342\200\256\342\201\246') raw=$(printf '\233\377') fine=$(printf 'gr\303\274n')
show() { LC_ALL=C tr '\000-\010\013-\037\177-\377' '!'; }

printf '{"data": {"indexrange": 5}, "train": {}, "model": {"modeltype": "T_FLOAT_DENSE"}, "default_optimizer": "sgd", "layers": [{"name": "a", "type": "simpleinputlayer", "outputdim": 1, "transfunc": "identity"}, {"name": "b", "type": "simplelosslayer", "lossfunc": "logloss", "inputlayer": "%s%s%s%s"}]}' "$json_esc" "$c1" "$bidi" "$fine" >net.json
furrow info net.json 2>&1 | grep inputlayer | show
header='{"a":{"dtype":"'$json_esc$c1'","shape":[1],"data_offsets":[0,4]}}'
{ printf "\\x$(printf %02x $(printf %s "$header" | wc -c))\\0\\0\\0\\0\\0\\0\\0"; printf '%s0000' "$header"; } >t.safetensors
furrow info t.safetensors 2>&1 | grep dtype | show
printf 'user,%s,label\nu,1,0\nv,2,1\n' "$c1$bidi$fine" >log.csv
furrow rows schema log.csv 2>&1 | show
furrow rows schema log.csv --json 2>&1 | grep name | show
furrow train --model lr --train log.csv --schema auto --label nothing --out m 2>&1 | show
try furrow info "${esc/;/}$raw" 2>&1 | show
try furrow rows info "no
such file" 2>&1 | show
# data stays what it is in a pipe, and is escaped on a terminal
printf '%s\n%s\n' "a$c1" "b$bidi$fine" >names.txt
printf '\0\0\0\0\0\0\200\077' >v.f32
furrow index build --base v.f32 --dim 1 --ids names.txt --out n.index --nlist 1 --m 0 -q >build.txt 2>&1 || cat build.txt
furrow index names n.index | cut -f 2 | cmp - names.txt
if command -v script >/dev/null; then
  script -qec 'furrow index names n.index' typescript </dev/null | tr -d '\r' | show
else # the expectation
  printf '%s\n' 'a\u009b\u009d' "b\\u202e\\u2066$fine" | show
fi
