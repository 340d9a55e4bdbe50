# field-aware factorization machines: data with fields, models of both precisions, what is refused
# the label depends on user and item by one rule and on user and device by another; a row may have two tags, or none
awk 'BEGIN { r = 5; for (i = 0; i < 3000; i++) { r = r * 16807 % 2147483647; u = int(r / 65536) % 12; r = r * 16807 % 2147483647; v = int(r / 65536) % 12; r = r * 16807 % 2147483647; d = int(r / 65536) % 4; r = r * 16807 % 2147483647; t = int(r / 65536) % 3; s = ((u + v) % 2 ? 2 : -2) + ((int(u / 2) + d) % 2 ? 1.5 : -1.5); print (s > 0), "1:" u + 1 ":1", "2:" v + 13 ":1", "3:" d + 25 ":1" (t > 0 ? " 4:29:0.5" : "") (t > 1 ? " 4:30:0.5" : "") } }' >t.libffm
fit() { # NAME OPTIONS…
  name=$1
  shift
  furrow train -q --defaults angel --model ffm --format libffm --fields 4 --rank 3 --range 30 --train t.libffm --out "$name" --optimizer adam --lr 0.02 --init-embedding 0.3 --epochs 8 "$@"
}
for type in T_FLOAT_DENSE T_DOUBLE_SPARSE; do
  fit $type --model-type $type --threads 1
  fit again --model-type $type --threads 3 --force
  diff -r $type again && echo "$type: same for any number of threads"
  furrow eval --model $type --data t.libffm | awk '/^accuracy/ { print ($2 > 0.98 ? "learned" : $0) }'
done
fit more --load T_FLOAT_DENSE && furrow eval --model more --data t.libffm | awk '/^accuracy/ { print ($2 > 0.98 ? "learned" : $0) }'
ls T_FLOAT_DENSE
furrow model info T_FLOAT_DENSE --no-stats | awk '/embedding_embedding/ { print $1, $2, $3, $4, $5, $6 }'
furrow train --defaults angel --model ffm --format libffm --fields 4 --rank 3 --range 30 --dry-run | tail -5
# the model knows its format; rows may leave fields out, have several features of one, have none
printf '1 1:1:1\n0 4:29:1 4:30:2 1:2:1\n1\n' | furrow predict --model T_FLOAT_DENSE --data - | wc -l | tr -d ' '
printf '1 5:1:1\n' | try furrow predict --model T_FLOAT_DENSE --data -
try furrow model export T_FLOAT_DENSE items.fbin --vectors item
try furrow train --defaults angel --model ffm --format libffm --train t.libffm --out m
try furrow train --defaults angel --model ffm --fields 4 --train t.libffm --out m
try furrow train --defaults angel --model ffm --fields 3 --format libffm --train t.libffm --out m
try furrow train --defaults angel --model ffm --fields 4000000000 --format libffm --train t.libffm --out m
try furrow train --defaults angel --model ffm --fields 4 --format libffm --fc 8 --train t.libffm --out m
