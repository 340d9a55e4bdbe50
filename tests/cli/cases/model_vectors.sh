# vectors of a factorization machine: their inner products rank items as its scores do
awk 'BEGIN { r = 5; for (i = 0; i < 4000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 20; b = int(r / 64) % 20; print ((a + b) % 4 ? 0 : 1), a + 1 ":1", b + 21 ":1" } }' >t.libsvm
furrow train -q --model fm --rank 6 --train t.libsvm --out fm --range 40 --epochs 10 --optimizer adam --lr 0.05 --init-embedding 0.2
furrow model export fm items.fbin --vectors item --cols 20:40
for ((q = 1; q <= 5; q++)); do echo "0 $q:1"; done >queries.libsvm
furrow model export fm queries.fbin --vectors query --data queries.libsvm --no-ids >/dev/null
furrow index build --base items.fbin --out items.index --nlist 1 --m 0 --metric ip >/dev/null
furrow index search items.index queries.fbin -k 3 --nprobe 1 >found
for ((q = 1; q <= 5; q++)); do
  for ((t = 21; t <= 40; t++)); do echo "$((t - 21)) $q:1 $t:1"; done | furrow predict --model fm --data - |
    sort -t, -k2,2gr | awk -F, 'NR <= 3 { printf "%s%s", (NR > 1 ? " " : ""), $1 } END { print "" }'
done >best
tr '\t' ' ' <found | sed 's/^[0-9]*:* *//; s/:[^ ]*//g' | diff - best && wc -l <best | tr -d ' '
# refused
try furrow model export fm none.fbin --vectors item --cols 90:99
furrow train -q --model lr --train t.libsvm --out lr --epochs 1
try furrow model export lr lr.fbin --vectors item
try furrow model export fm q.fbin --vectors query
try furrow model export fm items.fbin --vectors item
