# an id is there once: new vectors follow the largest id, and what would repeat an id is refused unless it is asked for
for ((i = 0; i < 64; i++)); do printf "\\x$(printf %02x $i)\\0\\200\\077\\0\\0\\0\\077"; done >b.f32
furrow index build --base b.f32 --dim 2 --out i --nlist 1 --m 0 -q >/dev/null
furrow index remove i --ids 0:60 -q | grep vectors
furrow index add i --base b.f32 --dim 2 -q | grep -E '^(added|vectors)'
furrow index remove i --ids 0:64 -q | grep -E '^(removed|vectors)'
furrow index verify i

seq 0 63 >ids.txt; sed -i 's/^7$/9/' ids.txt
try furrow index build --base b.f32 --dim 2 --ids ids.txt --out j --nlist 1 --m 0 -q
ls j 2>&1 | sed 's/.*: //'
furrow index build --base b.f32 --dim 2 --ids ids.txt --out j --nlist 1 --m 0 --repeated-ids -q | grep 'quantization error'
try furrow index add j --base b.f32 --dim 2 -q
furrow index build --base b.f32 --dim 2 --out k --nlist 1 --m 0 -q >/dev/null
try furrow index add k --base b.f32 --dim 2 --ids ids.txt -q
try furrow index merge k k --out l
furrow index merge k k --out l --shift | grep vectors
furrow index merge k k --out m --repeated-ids | grep vectors
